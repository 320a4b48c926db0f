"""Tables of the warehouse with the paper's published values."""

from itertools import product

from pipeline.names import PAPER_METRICS, SNAPSHOTS
from pipeline.schemas.columns import DATASET, INTERACTION, RELATION, VARIANT
from pipeline.schemas.table import COUNT, FLAG, NUMBER, SMALL, TEXT, Column, Table, tables_by_name
from pipeline.variants import PAPER_INTERACTIONS, PRIORS

PAPER = Column("paper", TEXT, "what the paper calls the data: `Social Evolution` or `GitHub`")
POSITION = Column("position", SMALL, "place in the order of printing")
MODEL_TITLE = Column("model", TEXT, "the variant's name in print, for instance `LDG (learned, sparse)`")
LEARNED_ATTENTION = Column("learned_attention", FLAG, "whether S is learned")
CELLS_3 = tuple(
    (metric, interaction, f"{metric.name}_{interaction}")
    for metric, interaction in product(PAPER_METRICS, PAPER_INTERACTIONS)
)
CELLS_4 = tuple((snapshot, prior, f"{snapshot}_{prior}") for snapshot, prior in product(SNAPSHOTS, PRIORS))
BOUND = "the worst value that still reaches the published one"

PUBLISHED_TABLE_2 = Table(
    "published_table_2",
    "One row per statistic of the paper's Table 2.",
    (
        PAPER,
        POSITION,
        Column("statistic", TEXT, "the column of `dataset_stats`"),
        Column("printed", TEXT, "how the paper prints its name"),
        Column("value", COUNT, "the published count"),
    ),
)
PUBLISHED_TABLE_3 = Table(
    "published_table_3",
    "One row per model of the paper's Table 3.",
    (
        PAPER,
        VARIANT,
        *(
            Column(f"{cell}_{part}", NUMBER, f"published {metric.title}, {interaction}: {part}")
            for metric, interaction, cell in CELLS_3
            for part in ("mean", "std")
        ),
    ),
)
PUBLISHED_CELLS = Table(
    "published_cells",
    "One row per cell of the paper's Table 3.",
    (
        PAPER,
        VARIANT,
        INTERACTION,
        Column("metric", TEXT, "the column of `link_prediction`"),
        Column("mean", NUMBER, "published mean"),
        Column("std", NUMBER, "published standard deviation"),
        Column("bound", NUMBER, BOUND),
    ),
)
PUBLISHED_TABLE_4 = Table(
    "published_table_4",
    "One row per relation of the paper's Table 4.",
    (
        PAPER,
        RELATION,
        *(
            Column(cell, SMALL, f"published AUC (%) with the {snapshot} graph, {prior} prior")
            for snapshot, prior, cell in CELLS_4
        ),
        *(Column(f"{cell}_bound", SMALL, BOUND) for *_, cell in CELLS_4),
    ),
)
PUBLISHED_MODELS = Table(
    "published_models",
    "One row per variant of a dataset: how it is printed, and where.",
    (
        DATASET,
        VARIANT,
        MODEL_TITLE,
        POSITION,
        LEARNED_ATTENTION,
        Column(
            "table_4_prior",
            TEXT,
            "the prior under which Table 4 shows the variant's graph; null if it does not",
        ),
    ),
)
METRICS_TABLE = Table(
    "metrics",
    "One row per metric of a ranking: how it is printed, and which way is better.",
    (
        Column("metric", TEXT, "the column of `link_prediction`"),
        Column("title", TEXT, "name in print"),
        Column("description", TEXT, "what it measures"),
        Column("lower_is_better", FLAG, "whether lower values are better"),
        Column("decimals", SMALL, "how many decimals are printed at least"),
        POSITION,
    ),
)
PUBLISHED = tables_by_name(
    (
        METRICS_TABLE,
        PUBLISHED_TABLE_2,
        PUBLISHED_TABLE_3,
        PUBLISHED_CELLS,
        PUBLISHED_TABLE_4,
        PUBLISHED_MODELS,
    )
)
