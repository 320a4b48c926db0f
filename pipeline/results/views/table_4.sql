create view table_4 as
with learned as (
    select attention_auc.*, 100 * auc as percent, snapshot || '_' || table_4_prior as cell
    from attention_auc join published_models using (dataset, variant)
    where table_4_prior is not null and picked and attention = 'final'
),
ours as (
    select dataset, interaction, relation, count(distinct seed) as seeds,
           avg(percent) filter (cell = 'initial_uniform') as initial_uniform_mean,
           stddev_samp(percent) filter (cell = 'initial_uniform') as initial_uniform_std,
           avg(percent) filter (cell = 'initial_sparse') as initial_sparse_mean,
           stddev_samp(percent) filter (cell = 'initial_sparse') as initial_sparse_std,
           avg(percent) filter (cell = 'final_uniform') as final_uniform_mean,
           stddev_samp(percent) filter (cell = 'final_uniform') as final_uniform_std,
           avg(percent) filter (cell = 'final_sparse') as final_sparse_mean,
           stddev_samp(percent) filter (cell = 'final_sparse') as final_sparse_std,
           bool_or(stale) as stale
    from learned group by all
),
counted as (
    select dataset, relation, 100 * auc as percent, snapshot || '_' || variant as cell from attention_auc
),
frequency as (
    select dataset, relation,
           max(percent) filter (cell = 'initial_frequency') as initial_frequency,
           max(percent) filter (cell = 'initial_communication_frequency') as initial_communication_frequency,
           max(percent) filter (cell = 'final_frequency') as final_frequency,
           max(percent) filter (cell = 'final_communication_frequency') as final_communication_frequency
    from counted group by all
)
select ours.dataset, ours.relation, ours.interaction,
       printed_cell(initial_uniform_mean, initial_uniform_std, published.initial_uniform_bound, false, 0)
           as initial_uniform,
       printed_cell(initial_sparse_mean, initial_sparse_std, published.initial_sparse_bound, false, 0)
           as initial_sparse,
       printed_cell(final_uniform_mean, final_uniform_std, published.final_uniform_bound, false, 0)
           as final_uniform,
       printed_cell(final_sparse_mean, final_sparse_std, published.final_sparse_bound, false, 0)
           as final_sparse,
       published.initial_uniform as initial_uniform_published,
       published.initial_sparse as initial_sparse_published,
       published.final_uniform as final_uniform_published,
       published.final_sparse as final_sparse_published,
       initial_uniform_mean, initial_uniform_std,
       at_bound_or_better(initial_uniform_mean, initial_uniform_bound, false) as initial_uniform_reached,
       initial_sparse_mean, initial_sparse_std,
       at_bound_or_better(initial_sparse_mean, initial_sparse_bound, false) as initial_sparse_reached,
       final_uniform_mean, final_uniform_std,
       at_bound_or_better(final_uniform_mean, final_uniform_bound, false) as final_uniform_reached,
       final_sparse_mean, final_sparse_std,
       at_bound_or_better(final_sparse_mean, final_sparse_bound, false) as final_sparse_reached,
       frequency.* exclude (dataset, relation), ours.seeds,
       published.initial_uniform_bound, published.initial_sparse_bound,
       published.final_uniform_bound, published.final_sparse_bound,
       ours.stale
from ours
left join frequency using (dataset, relation)
left join published_datasets using (dataset)
left join published_table_4 published on published.paper = published_datasets.paper
    and published.relation = ours.relation
order by ours.dataset, ours.interaction, ours.relation;
