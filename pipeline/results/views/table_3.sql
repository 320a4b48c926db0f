-- One column per metric and interaction of the paper, pivoted from `table_3_cells`. Published values are
-- shown even if one of the two interactions is not trained. A model with another interaction has a separate
-- row, with its values in both columns.
create view table_3 as
with cells as (
    select *, null::varchar as other_interaction
    from table_3_cells where interaction in ('concat', 'bilinear')
    union all
    select cells.* replace (paper.interaction as interaction), cells.interaction
    from table_3_cells cells, (values ('concat'), ('bilinear')) paper(interaction)
    where cells.interaction not in ('concat', 'bilinear')
),
cell_names as (
    select *, metric || '_' || interaction as cell from cells
),
ours as (
    select dataset, model, variant, learned_attention, position, other_interaction,
           any_value(printed) filter (cell = 'mar_concat') as mar_concat,
           any_value(printed) filter (cell = 'mar_bilinear') as mar_bilinear,
           any_value(printed) filter (cell = 'hits_at_10_concat') as hits_at_10_concat,
           any_value(printed) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear,
           any_value(mean) filter (cell = 'mar_concat') as mar_concat_mean,
           any_value(mean) filter (cell = 'mar_bilinear') as mar_bilinear_mean,
           any_value(mean) filter (cell = 'hits_at_10_concat') as hits_at_10_concat_mean,
           any_value(mean) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear_mean,
           any_value(std) filter (cell = 'mar_concat') as mar_concat_std,
           any_value(std) filter (cell = 'mar_bilinear') as mar_bilinear_std,
           any_value(std) filter (cell = 'hits_at_10_concat') as hits_at_10_concat_std,
           any_value(std) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear_std,
           any_value(reached) filter (cell = 'mar_concat') as mar_concat_reached,
           any_value(reached) filter (cell = 'mar_bilinear') as mar_bilinear_reached,
           any_value(reached) filter (cell = 'hits_at_10_concat') as hits_at_10_concat_reached,
           any_value(reached) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear_reached,
           coalesce(any_value(seeds) filter (interaction = 'concat'), 0) as seeds_concat,
           coalesce(any_value(seeds) filter (interaction = 'bilinear'), 0) as seeds_bilinear,
           bool_or(stale) as stale
    from cell_names
    group by all
),
published as (
    select published_datasets.dataset, variant,
           any_value(published) filter (cell = 'mar_concat') as mar_concat,
           any_value(published) filter (cell = 'mar_bilinear') as mar_bilinear,
           any_value(published) filter (cell = 'hits_at_10_concat') as hits_at_10_concat,
           any_value(published) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear,
           any_value(bound) filter (cell = 'mar_concat') as mar_concat_bound,
           any_value(bound) filter (cell = 'mar_bilinear') as mar_bilinear_bound,
           any_value(bound) filter (cell = 'hits_at_10_concat') as hits_at_10_concat_bound,
           any_value(bound) filter (cell = 'hits_at_10_bilinear') as hits_at_10_bilinear_bound
    from (
        select *, metric || '_' || interaction as cell, mean_and_std(mean, std, decimals) as published
        from published_cells join metrics using (metric)
    )
    join published_datasets using (paper)
    group by all
)
select ours.dataset, ours.model, ours.variant, ours.learned_attention,
       ours.mar_concat, ours.mar_bilinear, ours.hits_at_10_concat, ours.hits_at_10_bilinear,
       published.mar_concat as mar_concat_published,
       published.mar_bilinear as mar_bilinear_published,
       published.hits_at_10_concat as hits_at_10_concat_published,
       published.hits_at_10_bilinear as hits_at_10_bilinear_published,
       ours.mar_concat_mean, ours.mar_concat_std,
       printed.mar_concat_mean as mar_concat_published_mean,
       printed.mar_concat_std as mar_concat_published_std,
       ours.mar_concat_reached,
       ours.mar_bilinear_mean, ours.mar_bilinear_std,
       printed.mar_bilinear_mean as mar_bilinear_published_mean,
       printed.mar_bilinear_std as mar_bilinear_published_std,
       ours.mar_bilinear_reached,
       ours.hits_at_10_concat_mean, ours.hits_at_10_concat_std,
       printed.hits_at_10_concat_mean as hits_at_10_concat_published_mean,
       printed.hits_at_10_concat_std as hits_at_10_concat_published_std,
       ours.hits_at_10_concat_reached,
       ours.hits_at_10_bilinear_mean, ours.hits_at_10_bilinear_std,
       printed.hits_at_10_bilinear_mean as hits_at_10_bilinear_published_mean,
       printed.hits_at_10_bilinear_std as hits_at_10_bilinear_published_std,
       ours.hits_at_10_bilinear_reached,
       ours.seeds_concat, ours.seeds_bilinear,
       published.mar_concat_bound, published.mar_bilinear_bound,
       published.hits_at_10_concat_bound, published.hits_at_10_bilinear_bound,
       ours.stale, ours.other_interaction as interaction
from ours
left join published on published.dataset = ours.dataset and published.variant = ours.variant
    and ours.other_interaction is null
left join published_datasets on published_datasets.dataset = ours.dataset
left join published_table_3 printed on printed.paper = published_datasets.paper
    and printed.variant = ours.variant and ours.other_interaction is null
order by ours.dataset, ours.position nulls last, ours.variant, ours.other_interaction;
