"""Result tables of all datasets, the figures, the warehouse and the report."""

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import polars as pl
from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    AssetsDefinition,
    MaterializeResult,
    MetadataValue,
    ResourceParam,
    asset,
    get_dagster_logger,
)

from assets.chain import EVENT_TABLE, NO_LEARN_BASELINES, RENEWED_MODELS, TRAINED_MODELS, WAITING_TIMES
from assets.metadata import inline_picture, shown
from assets.versions import version_of_files
from pipeline.lake import Lake, read_parquet
from pipeline.results.agreement import write_attention_auc
from pipeline.results.dataset_stats import write_dataset_stats
from pipeline.results.leaderboard import datasets_lost
from pipeline.results.metrics import write_link_prediction, write_training_curves
from pipeline.results.trained import trained_variants
from pipeline.results.warehouse import build_warehouse
from pipeline.settings import Settings
from pipeline.sources.source import DatasetSpec
from pipeline.storage.share import results_shared

# Each result table: the chain step that it is built from, the function that writes it, its description.
TABLES: dict[str, tuple[str, Callable[[Lake], Any], str]] = {
    "dataset_stats": (
        EVENT_TABLE,
        write_dataset_stats,
        "The paper's Table 2: nodes, associations and events of every dataset.",
    ),
    "link_prediction": (
        TRAINED_MODELS,
        write_link_prediction,
        "How well every trained model ranks the true partner (the paper's Table 3): MAR, HITS@10 and MRR, "
        "also by time slot, by type of event, and for pairs never seen before.",
    ),
    "attention_auc": (
        TRAINED_MODELS,
        write_attention_auc,
        "How near the learned graph is to each known one (the paper's Table 4), beside plain frequency.",
    ),
    "training_curves": (
        TRAINED_MODELS,
        write_training_curves,
        "Every step of training: the three terms of the loss, and MAR at the end of each epoch.",
    ),
}
RESULTS = (*TABLES, "figures", "warehouse", "report")


def result_assets(specs: Sequence[DatasetSpec]) -> list[AssetsDefinition]:
    """Return the assets of the `results` group, over all datasets."""

    datasets = [spec.name for spec in specs]

    def of_each(step: str) -> list[AssetKey]:
        keys = [AssetKey([spec.name, step]) for spec in specs]
        if step == TRAINED_MODELS:  # a refresh retrains models in a separate step
            keys += [AssetKey([spec.name, RENEWED_MODELS]) for spec in specs if spec.source.is_daily]
        return keys

    @asset(
        group_name="results",
        kinds={"altair"},
        deps=[*of_each(TRAINED_MODELS), *of_each(NO_LEARN_BASELINES), *of_each(WAITING_TIMES), *TABLES],
    )
    def figures(settings: ResourceParam[Settings]) -> MaterializeResult:
        """Draw the paper's figures for each dataset with a trained model: SVG files, PNG previews here."""
        # Imported here because every process of Dagster loads this module.
        from pipeline.show.figures import draw_figures
        from pipeline.show.figures.thumbnail import thumbnail

        lake = settings.lake
        with results_shared(lake, datasets, get_dagster_logger().info):
            drawn = {
                f"{dataset}: {figure.title}": MetadataValue.md(
                    inline_picture(figure.title, thumbnail(figure.svg))
                )
                for dataset in datasets
                if trained_variants(lake, dataset)
                for figure in draw_figures(lake, dataset)
            }
        return MaterializeResult(metadata={"figures": len(drawn), **drawn})

    @asset(
        group_name="results",
        kinds={"duckdb"},
        deps=[
            *TABLES,
            *of_each(NO_LEARN_BASELINES),
            *of_each(WAITING_TIMES),
            "github_events",
            AssetKey(["following", "day"]),
        ],
        check_specs=[
            AssetCheckSpec(
                "beats_baselines",
                asset="warehouse",
                description="On each dataset a model ranks better than all that learn nothing.",
            )
        ],
    )
    def warehouse(settings: ResourceParam[Settings]) -> MaterializeResult:
        """Write all tables to one DuckDB file, replaced atomically: readers never see a partial file."""
        with results_shared(settings.lake, datasets, get_dagster_logger().info):
            path = build_warehouse(settings.lake)
        with duckdb.connect(str(path), read_only=True) as connection:
            names = [
                name
                for (name,) in connection.sql(
                    "select table_name from information_schema.tables order by 1"
                ).fetchall()
            ]
            counts = [connection.table(name).count("*").fetchall()[0][0] for name in names]
        lost = datasets_lost(path)
        return MaterializeResult(
            metadata=shown(pl.DataFrame({"table": names, "rows": counts}), path=MetadataValue.path(path)),
            check_results=[
                AssetCheckResult(
                    passed=not lost,
                    check_name="beats_baselines",
                    severity=AssetCheckSeverity.WARN,
                    metadata={"datasets where no model does": lost},
                )
            ],
        )

    @asset(group_name="results", kinds={"html"}, deps=[warehouse, figures])
    def report(settings: ResourceParam[Settings]) -> MaterializeResult:
        """Write one self-contained page: the run, tables, figures, and the latent graph to explore."""
        from pipeline.show.report import write_report

        with results_shared(settings.lake, datasets, get_dagster_logger().info):
            path = write_report(settings.lake)
        return MaterializeResult(metadata={"path": MetadataValue.path(path), "bytes": path.stat().st_size})

    tables = [
        result_table(name, datasets, of_each(step), write, description)
        for name, (step, write, description) in TABLES.items()
    ]
    return [*tables, figures, warehouse, report]


def result_table(
    name: str,
    datasets: Sequence[str],
    deps: Sequence[AssetKey],
    write: Callable[[Lake], Any],
    description: str,
) -> AssetsDefinition:
    """Return the asset of one result table, which writes `results/<name>.parquet`."""

    @asset(
        name=name,
        description=description,
        group_name="results",
        kinds={"parquet"},
        deps=deps,
    )
    def table(settings: ResourceParam[Settings]) -> MaterializeResult:
        with results_shared(settings.lake, datasets, get_dagster_logger().info):
            write(settings.lake)
        path = settings.lake.results / f"{name}.parquet"
        return MaterializeResult(metadata=shown(read_parquet(path)), data_version=version_of_files([path]))

    return table
