"""A home that looks like a finished reproduction: two small datasets with the paper's counts."""

import json
from pathlib import Path

from pipeline.lake import Lake, write_json, write_parquet
from pipeline.results import published
from pipeline.results.baselines import baselines
from pipeline.results.warehouse import build_warehouse
from tests.small_world import store_table, store_variant, write_results

VARIANTS = (
    "dyrep-concat",
    "dyrep-bilinear",
    "dyrep_friend-bilinear",
    "dyrep_wide-concat",
    "ldg_random_sparse-bilinear",
    "ldg_learned_uniform-bilinear",
    "ldg_learned_sparse-concat",
    "ldg_learned_sparse-bilinear",
    "ldg_learned_sparse_freq-bilinear",
)
COLUMNS = {"social_evolution": 2, "github_2013": 3}


def store_reproduction(home: Path, seeds: int = 3) -> Lake:
    """Both datasets, all variants, every result table and the warehouse."""
    lake = Lake(home)
    for number, (dataset, column) in enumerate(COLUMNS.items()):
        table = store_table(lake, dataset, seed=number)
        for variant in VARIANTS:
            store_variant(lake, table, variant, seeds=seeds)
            store_facts(lake, dataset, variant, seeds)
        write_parquet(baselines(table), lake.dataset(dataset) / "baselines.parquet")
        pretend(lake, dataset, column)
    rebuild(lake)
    return lake


def store_facts(lake: Lake, dataset: str, variant: str, seeds: int, **changed: object) -> None:
    """`model.json` as training writes it, as far as the page asks."""
    path = lake.model(dataset, variant) / "model.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    settings = {"seeds": list(range(seeds)), "epochs": 5, "batch": 200, "learning_rate": 2e-4}
    facts |= {"settings": settings | changed, "parameters": 12_345, "width": 32, "training_seconds": 61.5}
    write_json({**facts, "stopped": {}}, path)


def pretend(lake: Lake, dataset: str, column: int) -> None:
    """Give a dataset the statistics of one of the paper's."""
    path = lake.dataset(dataset) / "dataset.json"
    metadata = json.loads(path.read_text(encoding="utf-8"))
    metadata["stats"] |= {row[0]: int(row[column]) for row in published.TABLE_2}
    write_json(metadata, path)


def rebuild(lake: Lake) -> None:
    """The result tables and the warehouse."""
    write_results(lake)
    build_warehouse(lake)
