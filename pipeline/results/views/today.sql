create view today as
select forecasts.*
from forecasts
join (select dataset, max(as_of) as as_of from forecasts group by dataset) using (dataset, as_of)
order by dataset, variant, probability desc, node, rank;
