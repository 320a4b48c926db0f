"""Tables of results, `results/<name>.parquet`; baselines and waiting-time scores are in dataset folders."""

from pipeline.names import HORIZONS, brier_name
from pipeline.schemas.columns import BY_ROLE, DATASET, METRIC_COLUMNS, MODEL
from pipeline.schemas.table import (
    COUNT,
    FINGERPRINT,
    FLAG,
    NUMBER,
    SMALL,
    STALE,
    TABLE_END,
    TEXT,
    TIME,
    Column,
    Table,
    tables_by_name,
)
from pipeline.schemas.trained import CURVES

DATED = (TABLE_END, STALE, FINGERPRINT)

LINK_PREDICTION = Table(
    "link_prediction",
    "One row per trained variant, seed and split: how well communications were ranked, as in the paper.",
    (
        *MODEL,
        Column("split", TEXT, "`validation` (what the epoch was chosen on) or `test`"),
        *METRIC_COLUMNS,
        BY_ROLE,
        *DATED,
    ),
)
LINK_PREDICTION_BY_SLOT = Table(
    "link_prediction_by_slot",
    "The same per time slot of the test period; a slot without a communication has no row.",
    (
        *MODEL,
        Column("split", TEXT, "always `test`"),
        *METRIC_COLUMNS,
        Column("slot_start", TIME, "where the slot begins"),
        Column("slot_end", TIME, "where it ends (exclusive)"),
        *DATED,
    ),
)
LINK_PREDICTION_BY_GROUP = Table(
    "link_prediction_by_group",
    "The same per group of events.",
    (
        *MODEL,
        Column("split", TEXT, "`validation` or `test`"),
        Column("grouping", TEXT, "what the groups are: `kind`, `type` or `pair`"),
        Column("value", TEXT, "which group"),
        *METRIC_COLUMNS,
        *DATED,
    ),
)
BASELINES = Table(
    "baselines",
    "One row per predictor that learns nothing, on the test communications, ranked like the models'.",
    (
        DATASET,
        Column("baseline", TEXT, "name of the predictor"),
        Column("relation", TEXT, "the association graph it stands on, if it does"),
        *METRIC_COLUMNS,
        Column("never_seen_events", COUNT, "number of test communications whose pair had no event before"),
        Column("never_seen_mar", NUMBER, "MAR of these"),
        Column("never_seen_hits_at_10", NUMBER, "HITS@10 of these"),
        BY_ROLE,
        *DATED,
    ),
)
ATTENTION_AUC = Table(
    "attention_auc",
    "One row per learned graph and known graph: how well attention S separates the known graph's edges, "
    "over all ordered pairs of different nodes.",
    (
        *MODEL,
        Column(
            "edge_type", SMALL, "which of the model's edge types, from 0; null is the sum over all of them"
        ),
        Column(
            "relation",
            TEXT,
            "the known graph's relation; `planted` is one known from outside, as in the sample world",
        ),
        Column("snapshot", TEXT, "which of the relation's graphs: `initial` or `final`"),
        Column("auc", NUMBER, "area under the ROC curve: 0.5 is chance"),
        Column("average_precision", NUMBER, "average precision: `pairs` divided by N(N − 1) is chance"),
        Column("attention", TEXT, "`final`: S after the last training event; `initial`: its random start"),
        Column("picked", FLAG, "whether this edge type stands for the model in `table_4`"),
        Column("pairs", COUNT, "edges of the known graph, off the diagonal"),
        *DATED,
    ),
)
TRAINING_CURVES = Table(
    "training_curves",
    "One row per trained variant, seed and optimizer step.",
    (*MODEL, *CURVES.columns[1:], *DATED),
)
PREDICTOR_OF_TIME = Column(
    "predictor", TEXT, "`hazard` (learned), or one that learns nothing: `histogram`, `lognormal`, …"
)
SUBJECT = Column("subject", TEXT, "whose next event: `node`, in either role, or `pair`, a on b")
FORECAST_SPLIT = Column("split", TEXT, "`validation` or `test`: where the waits begin")
BRIER_SCORES = tuple(
    Column(brier_name(horizon), NUMBER, within)
    for horizon, within in zip(
        HORIZONS,
        ("Brier score of an event within an hour (lower is better)", "within a day", "within seven days"),
        strict=True,
    )
)
NEXT_EVENT_TIME = Table(
    "next_event_time",
    "One row per predictor, subject and split: how well the time of the next communication was forecast.",
    (
        DATASET,
        PREDICTOR_OF_TIME,
        SUBJECT,
        FORECAST_SPLIT,
        Column("waits", COUNT, "waits that ended: what the log score and CRPS are of"),
        Column("open_waits", COUNT, "waits that had not ended when the split did"),
        Column("log_score", NUMBER, "mean log probability of the very second (nats, higher is better)"),
        Column("gain", NUMBER, "log score over the best predictor that learns nothing (nats)"),
        Column("crps_hours", NUMBER, "continuous ranked probability score (hours, lower is better)"),
        Column("pit_distance", NUMBER, "how far the probability integral transform is from uniform, 0 to 1"),
        Column("pit_lowest_tenth", NUMBER, "share of waits in the shortest tenth that was forecast: 0.1"),
        *BRIER_SCORES,
        Column("brier_skill_1d", NUMBER, "share of `frequency`'s `brier_1d` that is saved"),
        *DATED,
    ),
)
CALIBRATION = Table(
    "calibration",
    "One row per predictor, subject, split, horizon and tenth of the scale: what was forecast and what came.",
    (
        DATASET,
        PREDICTOR_OF_TIME,
        SUBJECT,
        FORECAST_SPLIT,
        Column("horizon", TEXT, "`{}`, `{}` or `{}`".format(*HORIZONS)),
        Column("tenth", COUNT, "tenth of the scale of probabilities, from 0"),
        Column("predicted", NUMBER, "mean probability of an event within the horizon"),
        Column("observed", NUMBER, "share of waits that ended within it"),
        Column("forecasts", COUNT, "how many forecasts lie in this tenth"),
        *DATED,
    ),
)
RESULTS = tables_by_name(
    (
        LINK_PREDICTION,
        LINK_PREDICTION_BY_SLOT,
        LINK_PREDICTION_BY_GROUP,
        BASELINES,
        ATTENTION_AUC,
        TRAINING_CURVES,
        NEXT_EVENT_TIME,
        CALIBRATION,
    )
)
LEFT_OUT = Table(
    "left_out",
    "Rows not shown: their dataset is gone, an earlier version made them, or their file cannot be read.",
    (
        Column("table_name", TEXT, "the table they would be in"),
        DATASET,
        Column("rows", COUNT, "how many rows; null where that cannot be read"),
        Column("reason", TEXT, "why, and what to do"),
    ),
)
