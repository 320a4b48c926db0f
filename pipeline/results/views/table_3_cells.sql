create view table_3_cells as
with ours as (
    select dataset, variant, interaction, metric, avg(value) as mean, stddev_samp(value) as std,
           count(distinct seed) as seeds, stale
    from (unpivot (from link_prediction where split = 'test') on mar, hits_at_10 into name metric value value)
    group by all
)
select ours.dataset, coalesce(models.model, ours.variant) as model, ours.variant,
       coalesce(models.learned_attention, false) as learned_attention, models.position,
       ours.interaction, ours.metric,
       printed_cell(ours.mean, ours.std, published.bound, lower_is_better, decimals) as printed,
       mean_and_std(published.mean, published.std, decimals) as published,
       ours.mean, ours.std, published.mean as published_mean, published.std as published_std, published.bound,
       at_bound_or_better(ours.mean, published.bound, lower_is_better) as reached,
       ours.seeds, ours.stale
from ours
join metrics using (metric)
left join published_models models using (dataset, variant)
left join published_datasets using (dataset)
left join published_cells published on published.paper = published_datasets.paper
    and published.variant = ours.variant and published.interaction = ours.interaction
    and published.metric = ours.metric
order by ours.dataset, models.position nulls last, ours.variant, ours.interaction, metrics.position;
