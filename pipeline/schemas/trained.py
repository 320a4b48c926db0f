"""Tables of a trained variant, `models/<dataset>/<variant>/`, and of trainings in the warehouse."""

import polars as pl

from pipeline.schemas.columns import DATASET, INTERACTION, SEED, VARIANT, U, V
from pipeline.schemas.datasets import NODES
from pipeline.schemas.table import (
    COUNT,
    FINGERPRINT,
    FLAG,
    NUMBER,
    SMALL,
    TEXT,
    TIME,
    Column,
    Table,
    tables_by_name,
)

LOSSES = (
    Column("loss_events", NUMBER, "loss of the events"),
    Column("loss_nonevents", NUMBER, "loss of the sampled non-events"),
    Column("loss_kl", NUMBER, "KL term"),
)
CURVES = Table(
    "curves",
    "One row per seed and optimizer step.",
    (
        SEED,
        Column("step", COUNT, "number of the step, from 1"),
        Column("epoch", COUNT, "number of the epoch, from 1"),
        *LOSSES,
        Column("mar", NUMBER, "validation MAR, at the last step of an epoch"),
        Column(
            "test_mar",
            NUMBER,
            "test MAR after learning on through validation, at an epoch's last step; never used to choose",
        ),
    ),
)
RANKINGS = Table(
    "rankings",
    "One row per seed and event of the validation and test periods, of both kinds.",
    (
        SEED,
        Column("idx", COUNT, "the event's place in the dataset"),
        Column("split", TEXT, "`validation` or `test`"),
        Column("rank_v", pl.Float32, "rank of v among the candidates of u, from 0; ties share the mean rank"),
        Column("rank_u", pl.Float32, "rank of u among the candidates of v"),
    ),
)
ATTENTION = Table(
    "attention",
    "One row per non-zero entry of the attention S; snapshots between the ends are the first seed's only.",
    (
        SEED,
        Column(
            "snapshot",
            SMALL,
            "number of the snapshot: 0 before the first event, the last at the end of training",
        ),
        Column("label", TEXT, "`initial`, `final` or null"),
        Column("created_at", TIME, "time of the last event before it; null for `initial`"),
        Column("edge_type", SMALL, "which edge type, from 0"),
        U,
        V,
        Column("weight", pl.Float32, "the entry"),
    ),
)
EMBEDDINGS = Table(
    "embeddings",
    "One row per seed and node, after the last training event.",
    (SEED, NODES.columns[0], Column("z", pl.List(pl.Float32), "the embedding")),
)
PARTNERS = 10  # predicted for each node
PREDICTIONS = Table(
    "predictions",
    "The ten likeliest next partners of each node after the last event, for the first seed.",
    (
        SEED,
        NODES.columns[0],
        Column("partner", SMALL, "the partner"),
        Column("rank", SMALL, "its rank, from 0"),
        Column("density", NUMBER, "conditional density of an event of the two"),
    ),
)
TRAINED = tables_by_name((CURVES, RANKINGS, ATTENTION, EMBEDDINGS, PREDICTIONS))

# --- of a relational-event model alone

PREDICTED_PAIR = PREDICTIONS.columns[:3]
EDGE_TYPE = Column(
    "edge_type",
    SMALL,
    "the edge type along which such an event most probably comes, from 0; null: the base rate, no edge",
)
REASONS = Table(
    "reasons",
    "Why each partner is predicted.",
    (*PREDICTED_PAIR, Column("why", TEXT, "the statistics that carry it, in words"), EDGE_TYPE),
)
CONTRIBUTIONS = Table(
    "contributions",
    "One row per prediction and group of statistics.",
    (
        *PREDICTED_PAIR,
        Column("group", TEXT, "the group of statistics"),
        Column("contribution", NUMBER, "what it adds to log λ, against the average candidate"),
    ),
)
POSTERIOR = Table(
    "posterior",
    "One row per seed, pair with a past and edge type, after the last training event.",
    (
        SEED,
        Column("edge_type", SMALL, "which edge type, from 0"),
        U,
        V,
        Column("posterior", pl.Float32, "probability that an event of the pair comes along this edge type"),
    ),
)
EXPLAINED = tables_by_name((REASONS, CONTRIBUTIONS, POSTERIOR))

# --- in the warehouse

TRAININGS = Table(
    "trainings",
    "One row per finished training of a dataset, all seeds of a variant at once.",
    (
        DATASET,
        VARIANT,
        INTERACTION,
        Column("current", FLAG, "whether the event table is still the one it learned from"),
        Column("seeds", pl.List(pl.Int64), "the seeds that came to their end"),
        Column("chosen_epochs", pl.List(pl.Int64), "the epoch that validation chose for each, from 1"),
        Column("stopped_seeds", pl.List(pl.Int64), "the seeds that diverged and were stopped"),
        Column("parameters", COUNT, "number of weights of one seed"),
        Column("settings", TEXT, "how it was trained, as JSON: `settings->>'epochs'`"),
        Column("seconds", NUMBER, "how long it took"),
        Column("commit", TEXT, "commit of the code, `+` for changes not in it; null where unknown"),
        Column("finished_at", TIME, "when it was finished (UTC)"),
        FINGERPRINT,
        Column("folder", TEXT, "its folder below the home"),
    ),
)


def records_of_trainings(records: Table) -> Table:
    """Return a training's table extended with dataset, variant and interaction, for all current trainings."""
    return Table(
        records.name,
        f"{records.description} Of all current trainings (a view over Parquet).",
        (DATASET, VARIANT, INTERACTION, *records.columns),
    )


TRAINING_VIEWS = tables_by_name(
    records_of_trainings(records) for records in (RANKINGS, ATTENTION, EMBEDDINGS, CONTRIBUTIONS)
)
NAMED_PREDICTIONS = Table(
    "predictions",
    "The ten likeliest next partners of each node after the last event, by the first seed of each current "
    "training, and why.",
    (
        DATASET,
        VARIANT,
        INTERACTION,
        NODES.columns[0],
        Column("name", TEXT, "name of the node"),
        Column("partner", SMALL, "the partner"),
        Column("partner_name", TEXT, "name of the partner"),
        Column("rank", SMALL, "its rank, from 0"),
        Column("density", NUMBER, "conditional density of an event of the two; comparable within a node"),
        Column(
            "probability",
            NUMBER,
            "probability that the node's next event goes to the partner; null for a model of densities",
        ),
        Column("reasons", TEXT, "why, in words; null for a model that gives no reasons"),
        EDGE_TYPE,
    ),
)
