"""Every table that is written: its name, what it holds, and its columns with their types and meaning.

Parquet files, the warehouse with its comments, the tables of the documentation and the tests all take their
columns from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import polars as pl

from pipeline.names import FREQUENCIES, METRICS, PAPER_METRICS, SNAPSHOTS
from pipeline.variants import PAPER_INTERACTIONS, PRIORS

Type = pl.DataType | type[pl.DataType]
TIME = pl.Datetime("us")
TEXT, NUMBER, COUNT, SMALL, FLAG = pl.String, pl.Float64, pl.Int64, pl.Int32, pl.Boolean
SQL_TYPES: tuple[tuple[Type, str], ...] = (
    (pl.String, "VARCHAR"),
    (pl.Int64, "BIGINT"),
    (pl.Int32, "INTEGER"),
    (pl.Float64, "DOUBLE"),
    (pl.Float32, "FLOAT"),
    (pl.Boolean, "BOOLEAN"),
    (pl.Date, "DATE"),
    (TIME, "TIMESTAMP"),
    (pl.List(pl.String), "VARCHAR[]"),
    (pl.List(pl.Float32), "FLOAT[]"),
)


@dataclass(frozen=True)
class Column:
    """A column: its name, its type in Parquet, and what a value means."""

    name: str
    dtype: Type
    description: str

    @property
    def sql_type(self) -> str:
        """The type in the warehouse."""
        return next(sql for dtype, sql in SQL_TYPES if dtype == self.dtype)


@dataclass(frozen=True)
class Table:
    """A table: its name, what it holds in a sentence, and its columns in order."""

    name: str
    description: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise ValueError(f"columns of {self.name} has a name twice: {', '.join(self.names)}")

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def types(self) -> dict[str, Type]:
        """The polars schema."""
        return {column.name: column.dtype for column in self.columns}

    def cast(self, rows: pl.DataFrame) -> pl.DataFrame:
        """`rows` with exactly these columns, in order and of these types."""
        return rows.select(pl.col(column.name).cast(column.dtype) for column in self.columns)

    def stored(self) -> "Table":
        """A result table as its Parquet file has it: each row names the event table it was made from."""
        return Table(self.name, self.description, (*self.columns, FINGERPRINT))


def named(tables: Iterable[Table]) -> dict[str, Table]:
    """Tables by name."""
    return {table.name: table for table in tables}


# --- columns that several tables share

DATASET = Column("dataset", TEXT, "name of the dataset")
VARIANT = Column("variant", TEXT, "name of the variant, for instance `ldg_learned_sparse`")
INTERACTION = Column(
    "interaction",
    TEXT,
    "how two nodes' embeddings meet: `concat`, `bilinear`, or another of the variant's own",
)
SEED = Column("seed", COUNT, "number of the run, which decides all its random numbers")
MODEL = (DATASET, VARIANT, INTERACTION, SEED)
FINGERPRINT = Column(
    "fingerprint", TEXT, "hash of the whole event table, which every result made from it carries"
)
SPLIT = Column("split", TEXT, "`train`, `validation` (the last tenth of the training period) or `test`")
EVENTS_RANKED = Column("events", COUNT, "number of events ranked")
BY_ROLE = Column("by_role", FLAG, "whether the predictor knows who acted and who was acted on")
METRIC_COLUMNS = (
    EVENTS_RANKED,
    *(Column(metric.name, NUMBER, metric.description) for metric in METRICS),
)
U, V = Column("u", SMALL, "the source node"), Column("v", SMALL, "the target node")
RELATION = Column("relation", TEXT, "name of the relation")
SNAPSHOT = Column("snapshot", TEXT, "`initial`: at the first training event; `final`: at the last one")
KIND = Column("kind", TEXT, "`association` or `communication`")

# --- the archive

GHARCHIVE_FILES = Table(
    "gharchive_files",
    "One row per hour file of the archive, with what became of its events.",
    (
        Column("file", TEXT, "name of the hour file"),
        Column("day", pl.Date, "the day in its name"),
        Column("hour", SMALL, "the hour in its name"),
        Column("status", TEXT, "`ok`, `missing`, `damaged` or `failed`"),
        Column("bytes", COUNT, "size of the file"),
        Column("etag", TEXT, "the archive's own hash"),
        Column(
            "events", COUNT, "what the file held: always `kept` + `ignored` + `duplicates` + `quarantined`"
        ),
        Column("kept", COUNT, "events of a type that counts"),
        Column("ignored", COUNT, "events of other types, and of accounts with themselves"),
        Column("duplicates", COUNT, "events that came before"),
        Column("quarantined", COUNT, "what could not be read"),
        Column("fetched_at", TIME, "when it was fetched (UTC)"),
    ),
)
GITHUB_EVENTS = Table(
    "github_events",
    "One row per normalized event of the archive (a view over Parquet).",
    (
        Column("event_id", TEXT, "the archive's id, or a stable hash where it has none"),
        Column("type", TEXT, "for instance Push"),
        KIND,
        Column("actor", TEXT, "login of the account that acted"),
        Column("actor_id", COUNT, "its number, where known"),
        Column("counterpart", TEXT, "login of the account it acted upon"),
        Column("repo", TEXT, "the repository"),
        Column("created_at", TIME, "when (UTC)"),
        Column("file", TEXT, "the hour file it came from"),
    ),
)
QUARANTINE = Table(
    "quarantine",
    "One row per piece of an hour file that could not be read.",
    (
        Column("file", TEXT, "name of the hour file"),
        Column("offset", COUNT, "where the piece begins, in bytes of the decompressed file"),
        Column("reason", TEXT, "why it could not be read"),
        Column("bytes", COUNT, "its length"),
        Column("excerpt", TEXT, "its beginning"),
    ),
)

# --- an event table: the files of `datasets/<dataset>/`

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
EVENT_TABLE = named((EVENTS, NODES, ASSOCIATIONS, ASSOCIATION_EVENTS))

# --- a trained variant: the files of `models/<dataset>/<variant>/`

CURVES = Table(
    "curves",
    "One row per seed and optimizer step.",
    (
        SEED,
        Column("step", COUNT, "number of the step, from 0"),
        Column("epoch", COUNT, "number of the epoch, from 0"),
        Column("loss_events", NUMBER, "loss of the events"),
        Column("loss_nonevents", NUMBER, "loss of the sampled non-events"),
        Column("loss_kl", NUMBER, "KL term"),
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
TRAINED = named((CURVES, RANKINGS, ATTENTION, EMBEDDINGS, PREDICTIONS))

# --- datasets in the warehouse

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

# --- results: `results/<name>.parquet`, baselines beside their event table

LINK_PREDICTION = Table(
    "link_prediction",
    "One row per trained variant, seed and split: how well communications were ranked, as in the paper.",
    (
        *MODEL,
        Column("split", TEXT, "`validation` (what the epoch was chosen on) or `test`"),
        *METRIC_COLUMNS,
        BY_ROLE,
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
    ),
)
TRAINING_CURVES = Table(
    "training_curves",
    "One row per trained variant, seed and optimizer step.",
    (*MODEL, *CURVES.columns[1:]),
)
RESULTS = named(
    (
        LINK_PREDICTION,
        LINK_PREDICTION_BY_SLOT,
        LINK_PREDICTION_BY_GROUP,
        BASELINES,
        ATTENTION_AUC,
        TRAINING_CURVES,
    )
)
LEFT_OUT = Table(
    "left_out",
    "Result rows that are not shown: their dataset is gone, or its event table has changed since.",
    (
        Column("table_name", TEXT, "the result table"),
        DATASET,
        Column("rows", COUNT, "how many rows"),
        Column("reason", TEXT, "why, and what to do"),
    ),
)

# --- what the paper prints

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
PUBLISHED = named(
    (
        METRICS_TABLE,
        PUBLISHED_TABLE_2,
        PUBLISHED_TABLE_3,
        PUBLISHED_CELLS,
        PUBLISHED_TABLE_4,
        PUBLISHED_MODELS,
    )
)

# --- views, in the order in which they are made: `results/views/<name>.sql`

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
    ),
)
TABLE_3 = Table(
    "table_3",
    "One row per dataset and variant with one of the paper's interactions: the paper's Table 3.",
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
            "who acted is held against its like",
        ),
    ),
)
VIEWS = named((PUBLISHED_DATASETS, TABLE_2, TABLE_3_CELLS, TABLE_3, TABLE_4, LEADERBOARD))

WAREHOUSE = named(
    (
        *(GHARCHIVE_FILES, GITHUB_EVENTS),
        *(DATASET_EVENTS, DATASET_NODES, DATASET_ASSOCIATIONS, DATASET_STATS),
        *RESULTS.values(),
        LEFT_OUT,
        *PUBLISHED.values(),
        *VIEWS.values(),
    )
)
