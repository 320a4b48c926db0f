"""Tables of an event table, `datasets/<dataset>/`, and of datasets in the warehouse."""

import polars as pl

from pipeline.schemas.columns import DATASET, KIND, RELATION, SNAPSHOT, SPLIT, U, V
from pipeline.schemas.table import COUNT, FINGERPRINT, SMALL, TEXT, TIME, Column, Table, tables_by_name

EVENTS = Table(
    "events",
    "One row per event, in order of time; ties by the source's own order.",
    (
        Column("idx", COUNT, "the event's place in the dataset, from 0"),
        U,
        V,
        Column("type", TEXT, "what happened"),
        KIND,
        Column("created_at", TIME, "when, on the dataset's own clock (`dataset_stats.clock`)"),
        SPLIT,
    ),
)
NODES = Table(
    "nodes",
    "One row per node.",
    (
        Column("node", SMALL, "number of the node, from 0 without gaps"),
        Column("name", TEXT, "its name in the source"),
        Column(
            "features",
            pl.List(pl.Float32),
            "initial embedding, for instance one-hot school year and floor, or null",
        ),
    ),
)
ASSOCIATIONS = Table(
    "associations",
    "One row per entry of a relation's directed adjacency; u = v where a survey's subject names herself.",
    (RELATION, SNAPSHOT, U, V),
)
ASSOCIATION_EVENTS = Table(
    "association_events",
    "One row per association event of every known relation; those of own relations are events as well.",
    (RELATION, U, V, Column("created_at", TIME, "when, on the dataset's own clock")),
)
EVENT_TABLE = tables_by_name((EVENTS, NODES, ASSOCIATIONS, ASSOCIATION_EVENTS))

# --- in the warehouse

DATASET_EVENTS = Table("dataset_events", "One row per event of a dataset.", (DATASET, *EVENTS.columns))
DATASET_NODES = Table("dataset_nodes", "One row per node of a dataset.", (DATASET, *NODES.columns[:2]))
DATASET_ASSOCIATIONS = Table(
    "dataset_associations",
    "One row per entry of an association graph.",
    (DATASET, *ASSOCIATIONS.columns),
)
STATISTICS = (
    Column("nodes", COUNT, "number of nodes"),
    Column(
        "initial_associations", COUNT, "size of the own relations' first graph, counted as the paper does"
    ),
    Column("final_associations", COUNT, "size of their graph at the end of training"),
    Column("train_communications", COUNT, "communications before the test period, validation included"),
    Column("train_associations", COUNT, "associations before the test period, validation included"),
    Column("test_communications", COUNT, "communications of the test period"),
    Column("test_associations", COUNT, "associations of the test period"),
)
DATASET_STATS = Table(
    "dataset_stats",
    "One row per dataset: the paper's Table 2 and how times are meant.",
    (
        DATASET,
        *STATISTICS,
        Column("title", TEXT, "title for people"),
        Column("relations", pl.List(pl.String), "every relation known, the own ones first"),
        Column("own_relations", pl.List(pl.String), "the relations whose ties are events"),
        Column("clock", TEXT, "`UTC`, or `local` where times are wall-clock times of `time_zone`"),
        Column("time_zone", TEXT, "time zone of the split"),
        Column("validation_start", TIME, "where validation begins"),
        Column("test_start", TIME, "where the test period begins"),
        FINGERPRINT,
    ),
)
