create view table_2 as
with ours as (
    select dataset, statistic, value
    from (unpivot dataset_stats on
          nodes, initial_associations, final_associations, train_communications, train_associations,
          test_communications, test_associations
          into name statistic value value)
),
labels as (select distinct statistic, printed, position from published_table_2)
select ours.dataset, labels.printed as statistic, ours.value, published.value as published,
       ours.value = published.value as agrees
from ours
join labels using (statistic)
left join published_datasets using (dataset)
left join published_table_2 published on published.paper = published_datasets.paper
    and published.statistic = ours.statistic
order by ours.dataset, labels.position;
