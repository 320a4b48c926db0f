"""Measurements of a home, read once from its warehouse and its trained models."""

from dataclasses import dataclass

import duckdb
import polars as pl

from pipeline.lake import Lake
from pipeline.names import FINAL, HAZARD, MAR
from pipeline.results.trained import current_variants
from pipeline.results.warehouse import existing_warehouse
from pipeline.show.tables import PrintedTable, Row, table_3, table_4
from pipeline.variants import PAPER_INTERACTIONS, variant_title

BySeed = dict[int, float]


@dataclass(frozen=True)
class Measured:
    """Measurements of one dataset; `paper` is its name in the paper, None if it is not the paper's data.

    `table_2` to `table_4`, `baselines` and `best_baselines` are rows of the warehouse's tables of that name,
    `printed_3` and `printed_4` the tables to lay out; `scores`, `groups`, `auc` and `curves` hold one value
    per seed; `waits` and `calibration` belong to the learned waiting-time forecasts; `models` is each
    `model.json` by variant and interaction.
    """

    name: str
    title: str
    paper: str | None
    relations: tuple[str, ...]
    own_relation: str
    table_2: list[Row]
    table_3: list[Row]
    table_4: list[Row]
    baselines: list[Row]
    best_baselines: list[Row]
    printed_3: PrintedTable
    printed_4: PrintedTable
    scores: pl.DataFrame
    groups: pl.DataFrame
    auc: pl.DataFrame
    curves: pl.DataFrame
    waits: pl.DataFrame
    calibration: pl.DataFrame
    models: dict[tuple[str, str], Row]

    @property
    def has_papers_models(self) -> bool:
        """Return whether a model of the paper is trained on it."""
        return any(interaction in PAPER_INTERACTIONS for _, interaction in self.models)

    def model(self, variant: str) -> str:
        """Return a variant's printed name."""
        return variant_title(variant, self.relations)

    def printed_rows(self) -> list[Row]:
        """Return the rows that the paper's Table 3 has too."""
        cell = f"{MAR.name}_{PAPER_INTERACTIONS[0]}_published"
        return [row for row in self.table_3 if row[cell] is not None]

    def score(self, variant: str, interaction: str, metric: str = MAR.name) -> BySeed:
        """Return a test metric of a trained variant, by seed."""
        return by_seed(of_model(self.scores, variant, interaction), metric)

    def pair_score(self, variant: str, interaction: str, pair: str) -> BySeed:
        """Return test MAR over communications of pairs `seen before` or `never seen`, by seed."""
        return by_seed(of_model(self.groups, variant, interaction).filter(pl.col("value") == pair), MAR.name)

    def agreement(
        self, variant: str, interaction: str, relation: str, snapshot: str, *, summed: bool = False
    ) -> BySeed:
        """Return AUC (%) of the final attention with a known graph: the picked edge type's or the sum's."""
        rows = of_model(self.auc, variant, interaction).filter(
            pl.col("relation") == relation,
            pl.col("snapshot") == snapshot,
            pl.col("attention") == FINAL,
            pl.col("edge_type").is_null() if summed else pl.col("picked"),
        )
        return {seed: 100 * value for seed, value in by_seed(rows, "auc").items()}

    def baseline(self, name: str, metric: str = MAR.name) -> float | None:
        """Return a metric of a baseline without a relation, or None."""
        return next((row[metric] for row in self.baselines if row["baseline"] == name), None)

    def best_baseline(self, *, by_role: bool) -> Row | None:
        """Return the best baseline for models that are `by_role` or not, or None."""
        return next((row for row in self.best_baselines if row["model_by_role"] is by_role), None)


def of_model(rows: pl.DataFrame, variant: str, interaction: str) -> pl.DataFrame:
    """Return the rows of one trained variant."""
    return rows.filter(pl.col("variant") == variant, pl.col("interaction") == interaction)


def by_seed(rows: pl.DataFrame, column: str) -> BySeed:
    """Return a column's values by seed, in order of seeds."""
    return dict(rows.sort("seed").select("seed", column).iter_rows())


def read_measured(lake: Lake) -> list[Measured]:
    """Read every dataset of the warehouse that has a trained model, the paper's first, then by name."""
    with duckdb.connect(str(existing_warehouse(lake.warehouse)), read_only=True) as warehouse:
        for view in PLANNED_ONCE:
            warehouse.execute(f"create temp table {view} as from main.{view}")
        tables = {name: warehouse.sql(query).pl() for name, query in QUERIES.items()}
        datasets = tables.pop("dataset_stats").to_dicts()
        return [
            measured(lake, warehouse, stats, own)
            for stats in datasets
            if not (own := of_dataset(tables, stats["dataset"]))["scores"].is_empty()
        ]


def of_dataset(tables: dict[str, pl.DataFrame], dataset: str) -> dict[str, pl.DataFrame]:
    """Return the rows of one dataset."""
    return {name: frame.filter(pl.col("dataset") == dataset) for name, frame in tables.items()}


def measured(
    lake: Lake, warehouse: duckdb.DuckDBPyConnection, stats: Row, own: dict[str, pl.DataFrame]
) -> Measured:
    """Build the measurements of one dataset from its statistics and from `own`, its rows of every table."""
    name, title = stats["dataset"], stats["title"]
    return Measured(
        name=name,
        title=title,
        paper=stats["paper"],
        relations=tuple(stats["relations"]),
        own_relation=stats["own_relations"][0],
        table_2=own["table_2"].to_dicts(),
        table_3=own["table_3"].to_dicts(),
        table_4=own["table_4"].to_dicts(),
        baselines=own["baselines"].to_dicts(),
        best_baselines=own["best_baselines"].to_dicts(),
        printed_3=table_3(warehouse, name, title),
        printed_4=table_4(warehouse, name, title),
        scores=own["scores"],
        groups=own["groups"],
        auc=own["auc"],
        curves=own["curves"],
        waits=own["waits"],
        calibration=own["calibration"],
        models={(one.variant, one.interaction): one.facts for one in current_variants(lake, name)},
    )


# Wide views that are queried repeatedly: they have few rows, and planning them takes most of the time. They
# are materialized as temporary tables, which take precedence over views of the same name.
PLANNED_ONCE = ("table_3", "table_4")
QUERIES = {
    "dataset_stats": "select * from dataset_stats left join published_datasets using (dataset) "
    "order by paper desc nulls last, dataset",
    "table_2": "from table_2",
    "table_3": "from table_3 where not stale and interaction is null",
    "table_4": "from table_4 where not stale",
    "baselines": "from baselines where not stale order by dataset, mar, baseline, relation",
    "best_baselines": "from best_baselines where not stale",
    "scores": "from link_prediction where split = 'test' and not stale",
    "groups": "from link_prediction_by_group where split = 'test' and grouping = 'pair' and not stale",
    "auc": "from attention_auc where not stale",
    "curves": "from training_curves where test_mar is not null and not stale",
    "waits": f"from next_event_time where predictor = '{HAZARD}' and split = 'test' and not stale "
    "order by dataset, subject",
    "calibration": f"from calibration where predictor = '{HAZARD}' and split = 'test' and horizon = '1 d' "
    "and not stale",
}
