"""The track record of a followed archive: `following/` in a home, and its views in the warehouse."""

import polars as pl

from pipeline.names import BRIEF_METRICS, FREQUENCY, POPULARITY, RECENCY
from pipeline.schemas.columns import DATASET, EVENTS_RANKED, VARIANT
from pipeline.schemas.datasets import NODES
from pipeline.schemas.table import COUNT, FLAG, NUMBER, SMALL, TEXT, TIME, Column, Table, tables_by_name

AS_OF = Column("as_of", TIME, "the end of the day (UTC) whose events were the last that the forecast knew")
REVISED = Column(
    "revised", FLAG, "whether late data changed the rows of this day after they were first published"
)
FORECASTS = Table(
    "forecasts",
    "The twenty likeliest partners that each followed node acts on, as of the end of each day.",
    (
        DATASET,
        AS_OF,
        VARIANT,
        NODES.columns[0],
        Column("name", TEXT, "its name"),
        Column("partner", SMALL, "the partner's number"),
        Column("partner_name", TEXT, "the partner's name"),
        Column("rank", SMALL, "the partner's rank, from 0"),
        Column("probability", NUMBER, "probability that the node acts on the partner within the next day"),
        Column("expected_at", TIME, "when the next such event is expected (UTC); null if not within a year"),
        REVISED,
    ),
)
FORECAST_SCORES = Table(
    "forecast_scores",
    "How the forecast of a day did on the day after, beside what learns nothing on the same events.",
    (
        DATASET,
        AS_OF,
        Column("scored_until", TIME, "the end of the day (UTC) that it was held against"),
        Column(
            "predictor", TEXT, "the variant, or what learns nothing: `recency`, `frequency` or `popularity`"
        ),
        Column("learns", FLAG, "whether it is a model"),
        Column(
            "how",
            TEXT,
            "`online`: the state moves on with each event, weights stay; `as_forecast`: the list as it stood",
        ),
        EVENTS_RANKED,
        *(Column(metric.name, NUMBER, metric.description) for metric in BRIEF_METRICS),
        Column(
            "log_score",
            NUMBER,
            "online: mean log probability of the true partner among all candidates; as forecast: mean log "
            "probability of what came of each ordered pair, within the day; higher is better",
        ),
        Column(
            "brier",
            NUMBER,
            "as forecast: mean of (probability − whether it came)² over all ordered pairs; lower is better",
        ),
        Column("never_seen_events", COUNT, "number of events whose pair had none before"),
        Column("never_seen_mar", NUMBER, "MAR of these"),
        REVISED,
    ),
)
FOLLOWED = Table(
    "followed",
    "Who was followed, and from when to when.",
    (
        DATASET,
        Column("from", pl.Date, "the first day that was forecast for these people"),
        Column("until", pl.Date, "the last one; null while they are followed"),
        NODES.columns[0],
        Column("name", TEXT, "its name"),
        Column("why", TEXT, "why it is followed"),
    ),
)
TRACK_RECORD_TABLES = tables_by_name((FORECASTS, FORECAST_SCORES, FOLLOWED))

# --- views

TODAY = Table(
    "today",
    "The latest forecast of every followed dataset, the likeliest interactions first.",
    FORECASTS.columns,
)
FOLLOWING_BASELINES = (RECENCY, FREQUENCY, POPULARITY)
TRACK_RECORD = Table(
    "track_record",
    "Day by day: how each model's forecast did, beside what learns nothing on the same events.",
    (
        *(DATASET, AS_OF, FORECAST_SCORES.columns[2], VARIANT, FORECAST_SCORES.columns[5], EVENTS_RANKED),
        *(
            Column(name, NUMBER, meaning)
            for metric in BRIEF_METRICS
            for name, meaning in (
                (metric.name, f"{metric.title} of the model"),
                *(
                    (f"{baseline}_{metric.name}", f"the same of {baseline}")
                    for baseline in FOLLOWING_BASELINES
                ),
            )
        ),
        Column("never_seen_mar", NUMBER, "MAR of the events whose pair had none before"),
        Column("recency_never_seen_mar", NUMBER, "the same of recency"),
        Column("log_score", NUMBER, "log score of the model"),
        Column("frequency_log_score", NUMBER, "the same of frequency"),
        Column("brier", NUMBER, "Brier score of the model"),
        Column("frequency_brier", NUMBER, "the same of frequency"),
        Column("beats_recency", FLAG, "whether the model's MAR is below that of recency"),
        REVISED,
    ),
)
TRACK_RECORD_VIEWS = tables_by_name((TODAY, TRACK_RECORD))
