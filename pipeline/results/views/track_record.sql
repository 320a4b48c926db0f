create view track_record as
with baseline as (
    select dataset, as_of, how,
        any_value(mar) filter (predictor = 'recency') as recency_mar,
        any_value(mar) filter (predictor = 'frequency') as frequency_mar,
        any_value(mar) filter (predictor = 'popularity') as popularity_mar,
        any_value(hits_at_10) filter (predictor = 'recency') as recency_hits_at_10,
        any_value(hits_at_10) filter (predictor = 'frequency') as frequency_hits_at_10,
        any_value(hits_at_10) filter (predictor = 'popularity') as popularity_hits_at_10,
        any_value(mrr) filter (predictor = 'recency') as recency_mrr,
        any_value(mrr) filter (predictor = 'frequency') as frequency_mrr,
        any_value(mrr) filter (predictor = 'popularity') as popularity_mrr,
        any_value(never_seen_mar) filter (predictor = 'recency') as recency_never_seen_mar,
        any_value(log_score) filter (predictor = 'frequency') as frequency_log_score,
        any_value(brier) filter (predictor = 'frequency') as frequency_brier
    from forecast_scores
    where not learns
    group by dataset, as_of, how
)
select dataset, as_of, scored_until, predictor as variant, how, events,
    mar, recency_mar, frequency_mar, popularity_mar,
    hits_at_10, recency_hits_at_10, frequency_hits_at_10, popularity_hits_at_10,
    mrr, recency_mrr, frequency_mrr, popularity_mrr,
    never_seen_mar, recency_never_seen_mar, log_score, frequency_log_score, brier, frequency_brier,
    mar < recency_mar as beats_recency, revised
from forecast_scores
left join baseline using (dataset, as_of, how)
where learns
order by dataset, as_of, variant, how;
