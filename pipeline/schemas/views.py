"""Views of the warehouse, `results/views/<name>.sql`, in order of creation."""

from itertools import product

from pipeline.names import FREQUENCIES, SNAPSHOTS
from pipeline.schemas.columns import BY_ROLE, DATASET, INTERACTION, RELATION, VARIANT
from pipeline.schemas.datasets import DATASET_EVENTS
from pipeline.schemas.published import (
    BOUND,
    CELLS_3,
    CELLS_4,
    LEARNED_ATTENTION,
    MODEL_TITLE,
    PAPER,
    POSITION,
)
from pipeline.schemas.results import BASELINES
from pipeline.schemas.table import (
    COUNT,
    FLAG,
    NUMBER,
    SMALL,
    STALE,
    TABLE_END,
    TEXT,
    Column,
    Table,
    tables_by_name,
)
from pipeline.variants import PAPER_INTERACTIONS

NAMED_EVENTS = Table(
    "named_events",
    "One row per event of a dataset, with the names of its nodes.",
    (
        *DATASET_EVENTS.columns,
        Column("u_name", TEXT, "name of the source node"),
        Column("v_name", TEXT, "name of the target node"),
    ),
)
PUBLISHED_DATASETS = Table(
    "published_datasets",
    "The datasets that are the paper's own: their four event counts equal those of its Table 2.",
    (DATASET, PAPER),
)
TABLE_2 = Table(
    "table_2",
    "One row per dataset and statistic: the paper's Table 2.",
    (
        DATASET,
        Column("statistic", TEXT, "name of the statistic in print"),
        Column("value", COUNT, "our count"),
        Column("published", COUNT, "the published count, if the data are the paper's"),
        Column("agrees", FLAG, "whether the two are equal"),
    ),
)
TABLE_3_CELLS = Table(
    "table_3_cells",
    "One row per dataset, variant, interaction and metric: every cell of Table 3, and of variants beyond it.",
    (
        DATASET,
        MODEL_TITLE,
        VARIANT,
        LEARNED_ATTENTION,
        POSITION,
        INTERACTION,
        Column("metric", TEXT, "the column of `link_prediction`"),
        Column("printed", TEXT, "our mean ± std over seeds as text, with the digit that decides `reached`"),
        Column("published", TEXT, "the published mean ± std as text"),
        Column("mean", NUMBER, "our mean over seeds"),
        Column("std", NUMBER, "our standard deviation (n − 1) over seeds"),
        Column("published_mean", NUMBER, "published mean"),
        Column("published_std", NUMBER, "published standard deviation"),
        Column("bound", NUMBER, BOUND),
        Column("reached", FLAG, "whether our mean is at the bound or better"),
        Column("seeds", COUNT, "number of seeds"),
        STALE,
    ),
)
TABLE_3 = Table(
    "table_3",
    "One row per dataset and variant: the paper's Table 3, and below it models with other interactions.",
    (
        DATASET,
        MODEL_TITLE,
        VARIANT,
        LEARNED_ATTENTION,
        *(
            Column(cell, TEXT, f"{metric.title}, {interaction}: our mean ± std over seeds as text")
            for metric, interaction, cell in CELLS_3
        ),
        *(
            Column(
                f"{cell}_published", TEXT, f"{metric.title}, {interaction}: the published mean ± std as text"
            )
            for metric, interaction, cell in CELLS_3
        ),
        *(
            Column(f"{cell}_{part}", dtype, f"{metric.title}, {interaction}: {description}")
            for metric, interaction, cell in CELLS_3
            for part, dtype, description in (
                ("mean", NUMBER, "our mean over seeds"),
                ("std", NUMBER, "our standard deviation (n − 1)"),
                ("published_mean", NUMBER, "published mean"),
                ("published_std", NUMBER, "published standard deviation"),
                ("reached", FLAG, "whether ours is at the bound or better"),
            )
        ),
        *(Column(f"seeds_{how}", COUNT, f"number of seeds, {how}") for how in PAPER_INTERACTIONS),
        *(
            Column(f"{cell}_bound", NUMBER, f"{metric.title}, {interaction}: {BOUND}")
            for metric, interaction, cell in CELLS_3
        ),
        STALE,
        Column(
            "interaction",
            TEXT,
            "the interaction, if neither concat nor bilinear: the values then stand in both columns",
        ),
    ),
)
TABLE_4 = Table(
    "table_4",
    "One row per dataset, relation and interaction: AUC (%) of learned LDG's picked edge type (Table 4).",
    (
        DATASET,
        RELATION,
        INTERACTION,
        *(
            Column(cell, TEXT, f"with the {snapshot} graph, {prior} prior: our mean ± std over seeds as text")
            for snapshot, prior, cell in CELLS_4
        ),
        *(
            Column(f"{cell}_published", SMALL, f"{snapshot} graph, {prior} prior: published AUC (%)")
            for snapshot, prior, cell in CELLS_4
        ),
        *(
            Column(f"{cell}_{part}", dtype, f"{snapshot} graph, {prior} prior: {description}")
            for snapshot, prior, cell in CELLS_4
            for part, dtype, description in (
                ("mean", NUMBER, "our mean over seeds"),
                ("std", NUMBER, "our standard deviation (n − 1)"),
                ("reached", FLAG, "whether ours is at the bound or better"),
            )
        ),
        *(
            Column(
                f"{snapshot}_{frequency}",
                NUMBER,
                f"{snapshot} graph: AUC (%) of {frequency.replace('_', ' ')}",
            )
            for snapshot, frequency in product(SNAPSHOTS, FREQUENCIES)
        ),
        Column("seeds", COUNT, "number of seeds"),
        *(
            Column(f"{cell}_bound", SMALL, f"{snapshot} graph, {prior} prior: {BOUND}")
            for snapshot, prior, cell in CELLS_4
        ),
        STALE,
    ),
)
BEST_BASELINES = Table(
    "best_baselines",
    "Two rows per dataset: the best predictor that learns nothing and knows no more than a model does.",
    (
        Column("model_by_role", FLAG, "whether that model knows who acted and who was acted on"),
        *BASELINES.columns,
    ),
)
LEADERBOARD = Table(
    "leaderboard",
    "One row per predictor, models and baselines alike, on the test communications; the best first.",
    (
        DATASET,
        Column("predictor", TEXT, "the predictor's name in print"),
        Column("learns", FLAG, "whether it is a trained model; the others learn nothing"),
        BY_ROLE,
        Column("mar", NUMBER, "MAR, the mean over seeds"),
        Column("mar_std", NUMBER, "its standard deviation (n − 1) over seeds"),
        Column("hits_at_10", NUMBER, "HITS@10, the mean over seeds"),
        Column("mrr", NUMBER, "MRR, the mean over seeds"),
        Column("never_seen_mar", NUMBER, "MAR of the communications whose pair had no event before"),
        Column("never_seen_hits_at_10", NUMBER, "HITS@10 of these"),
        Column("seeds", COUNT, "number of seeds"),
        Column(
            "beats_baselines",
            FLAG,
            "whether its MAR is below that of every predictor that learns nothing; one that does not know "
            "who acted is held against its like; null where theirs is of another event table",
        ),
        TABLE_END,
        STALE,
    ),
)
VIEWS = tables_by_name(
    (
        NAMED_EVENTS,
        PUBLISHED_DATASETS,
        TABLE_2,
        TABLE_3_CELLS,
        TABLE_3,
        TABLE_4,
        BEST_BASELINES,
        LEADERBOARD,
    )
)
