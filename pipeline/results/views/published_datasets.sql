-- The paper's data sets are recognized by their four event counts, not by name: the sample data also has a
-- dataset `github`, which must not be compared with published figures.
create view published_datasets as
with counts as (
    select dataset, statistic, value
    from (unpivot dataset_stats on
          train_communications, train_associations, test_communications, test_associations
          into name statistic value value)
)
select counts.dataset, published.paper
from counts join published_table_2 published using (statistic)
group by all
having bool_and(counts.value = published.value);
