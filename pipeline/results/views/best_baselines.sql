-- The one rule of what a model is held against: one that knows who acted, against every predictor that learns
-- nothing; one that does not, against its like. Results of two event tables are never held against each other.
create view best_baselines as
select models.by_role as model_by_role, baselines.*
from baselines, (values (false), (true)) models(by_role)
where models.by_role or not coalesce(baselines.by_role, false)
qualify row_number() over (
    partition by dataset, fingerprint, models.by_role order by mar, baseline, relation
) = 1
order by dataset, stale, model_by_role;
