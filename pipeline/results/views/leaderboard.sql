create view leaderboard as
with models as (
    select dataset, variant, interaction, by_role, count(distinct seed) as seeds,
           avg(mar) as mar, stddev_samp(mar) as mar_std, avg(hits_at_10) as hits_at_10, avg(mrr) as mrr,
           as_of, stale, fingerprint
    from link_prediction where split = 'test' group by all
),
never_seen as (
    select dataset, variant, interaction, avg(mar) as never_seen_mar, avg(hits_at_10) as never_seen_hits_at_10
    from link_prediction_by_group
    where split = 'test' and grouping = 'pair' and value = 'never seen' group by all
),
predictors as (
    select dataset, coalesce(titles.model, variant) || ', ' || interaction as predictor, true as learns,
           by_role, mar, mar_std, hits_at_10, mrr, never_seen_mar, never_seen_hits_at_10, seeds,
           as_of, stale, fingerprint
    from models
    left join never_seen using (dataset, variant, interaction)
    left join published_models titles using (dataset, variant)
    union all
    select dataset, replace(baseline, '_', ' ') || coalesce(', ' || relation, ''), false, coalesce(by_role, false),
           mar, null, hits_at_10, mrr, never_seen_mar, never_seen_hits_at_10, null,
           as_of, stale, fingerprint
    from baselines
)
select predictors.* exclude (as_of, stale, fingerprint),
       case when learns then predictors.mar < best.mar end as beats_baselines,
       predictors.as_of, predictors.stale
from predictors
left join best_baselines best on best.dataset = predictors.dataset
    and best.model_by_role = coalesce(predictors.by_role, false)
    and best.fingerprint = predictors.fingerprint
order by predictors.dataset, predictors.mar;
