"""What was measured on a home, read once from its warehouse and its trained models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from pipeline.lake import Lake
from pipeline.results.trained import finished_variants, read_model_facts, split_variant

INTERACTIONS = ("concat", "bilinear")
Row = dict[str, Any]
BySeed = dict[int, float]


@dataclass(frozen=True)
class Measured:
    """Everything known of one dataset; `paper` is what the paper calls it, None if the data are not its.

    `table_2` to `table_4` and `baselines` are rows of the warehouse's tables of that name; `scores`,
    `groups`, `auc` and `curves` hold a value a seed; `models` is each `model.json` by variant and
    interaction.
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
    scores: pl.DataFrame
    groups: pl.DataFrame
    auc: pl.DataFrame
    curves: pl.DataFrame
    models: dict[tuple[str, str], Row]

    def model(self, variant: str) -> str:
        """A variant's name in print."""
        return next((row["model"] for row in self.table_3 if row["variant"] == variant), variant)

    def printed_rows(self) -> list[Row]:
        """The rows that the paper's Table 3 has too."""
        return [row for row in self.table_3 if row["mar_concat_published"] is not None]

    def score(self, variant: str, interaction: str, metric: str = "mar") -> BySeed:
        """A test metric of a trained variant, by seed."""
        return by_seed(of_model(self.scores, variant, interaction), metric)

    def pair_score(self, variant: str, interaction: str, pair: str) -> BySeed:
        """Test MAR over communications of pairs `seen before` or `never seen`, by seed."""
        return by_seed(of_model(self.groups, variant, interaction).filter(pl.col("value") == pair), "mar")

    def agreement(
        self, variant: str, interaction: str, relation: str, snapshot: str, *, summed: bool = False
    ) -> BySeed:
        """AUC (%) of the final attention with a known graph: of the picked edge type, or of all summed."""
        rows = of_model(self.auc, variant, interaction).filter(
            pl.col("relation") == relation,
            pl.col("snapshot") == snapshot,
            pl.col("attention") == "final",
            pl.col("edge_type").is_null() if summed else pl.col("picked"),
        )
        return {seed: 100 * value for seed, value in by_seed(rows, "auc").items()}

    def baseline(self, name: str, metric: str = "mar") -> float | None:
        """A metric of a predictor that learns nothing and stands on no relation."""
        return next((row[metric] for row in self.baselines if row["baseline"] == name), None)


def of_model(rows: pl.DataFrame, variant: str, interaction: str) -> pl.DataFrame:
    """The rows of one trained variant."""
    return rows.filter(pl.col("variant") == variant, pl.col("interaction") == interaction)


def by_seed(rows: pl.DataFrame, column: str) -> BySeed:
    """A column's values by seed, in order of seeds."""
    return dict(rows.sort("seed").select("seed", column).iter_rows())


def read_measured(lake: Lake) -> list[Measured]:
    """Every dataset of the warehouse that has a trained model, in the paper's order, then by name."""
    with duckdb.connect(str(checked(lake.warehouse)), read_only=True) as warehouse:
        tables = {name: warehouse.sql(query).pl() for name, query in QUERIES.items()}
    found = []
    for stats in tables["dataset_stats"].iter_rows(named=True):
        name = stats["dataset"]
        own = {key: frame.filter(pl.col("dataset") == name) for key, frame in tables.items()}
        if own["scores"].is_empty():
            continue
        facts = {
            split_variant(variant): read_model_facts(lake, name, variant)
            for variant in finished_variants(lake, name)
        }
        found.append(
            Measured(
                name=name,
                title=stats["title"],
                paper=stats["paper"],
                relations=tuple(stats["relations"]),
                own_relation=stats["own_relations"][0],
                **{key: own[key].to_dicts() for key in ("table_2", "table_3", "table_4", "baselines")},
                **{key: own[key] for key in ("scores", "groups", "auc", "curves")},
                models={
                    key: fact for key, fact in facts.items() if fact["fingerprint"] == stats["fingerprint"]
                },
            )
        )
    return found


def checked(warehouse: Path) -> Path:
    """The warehouse's path, if there is one."""
    if not warehouse.exists():
        raise FileNotFoundError(f"{warehouse} is not there: `ldg run` makes it")
    return warehouse


QUERIES = {
    "dataset_stats": "select * from dataset_stats left join published_datasets using (dataset) "
    "order by paper desc nulls last, dataset",
    "table_2": "from table_2",
    "table_3": "from table_3",
    "table_4": "from table_4",
    "baselines": "from baselines order by dataset, mar, baseline, relation",
    "scores": "from link_prediction where split = 'test'",
    "groups": "from link_prediction_by_group where split = 'test' and grouping = 'pair'",
    "auc": "from attention_auc",
    "curves": "from training_curves where test_mar is not null",
}
