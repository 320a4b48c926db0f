-- The baseline to compare a model with: a by-role model competes with every baseline, any other only with
-- undirected baselines. Results of different event tables are never compared.
create view best_baselines as
select models.by_role as model_by_role, baselines.*
from baselines, (values (false), (true)) models(by_role)
where models.by_role or not coalesce(baselines.by_role, false)
qualify row_number() over (
    partition by dataset, fingerprint, models.by_role order by mar, baseline, relation
) = 1
order by dataset, stale, model_by_role;
