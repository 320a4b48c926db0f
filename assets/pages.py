"""Metadata of the assets' pages in the UI: columns, files, document, owner, tags, code version, freshness.

`assets.lanes` defines how assets are made; the metadata that all of them have is added here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dagster import AssetSpec, FreshnessPolicy, MetadataValue

from assets.chain import EVENT_TABLE, NO_LEARN_BASELINES, RENEWED_MODELS, TRAINED_MODELS, WAITING_TIMES
from assets.metadata import column_schema
from assets.partitions import FILE_DAYS, followed_partitions, home_days
from model import identity
from model.rem import settings as rem_settings
from model.when import settings as when
from pipeline.following.rule import FOLLOWING
from pipeline.lake import Lake
from pipeline.schemas import (
    BASELINES,
    CURVES,
    DATASET_STATS,
    EVENTS,
    FORECASTS,
    GITHUB_EVENTS,
    RESULTS,
    SUBNETWORK,
    Table,
)
from pipeline.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"
# A window that ends at most this long ago is expected to keep up with the present.
PRESENT = timedelta(days=7)
LATE, TOO_LATE = timedelta(hours=26), timedelta(hours=50)  # a schedule fetches one day per day


@dataclass(frozen=True)
class Page:
    """The metadata of an asset's page.

    `code` is the code version: raise it whenever the same inputs begin to give a different output.
    """

    owner: str
    document: str
    code: str = "1"
    table: Table | None = None


DATA, MODELS, RESULTS_TEAM = "team:data", "team:models", "team:results"
TRAINING_CODE = f"{identity.VERSION}.{rem_settings.VERSION}"

# By the last part of an asset's key: lanes of datasets have the same steps.
PAGES = {
    "gharchive_files": Page(DATA, "data-gharchive.md"),
    "github_events": Page(DATA, "data-gharchive.md", table=GITHUB_EVENTS),
    "subnetwork": Page(DATA, "subnetwork.md", table=SUBNETWORK),
    "social_evolution_files": Page(DATA, "data-social-evolution.md"),
    EVENT_TABLE: Page(DATA, "architecture.md", table=EVENTS),
    TRAINED_MODELS: Page(MODELS, "model.md", TRAINING_CODE, CURVES),
    RENEWED_MODELS: Page(MODELS, "operations.md", TRAINING_CODE),
    "archive": Page(DATA, "following.md"),
    "day": Page(MODELS, "following.md", table=FORECASTS),
    NO_LEARN_BASELINES: Page(RESULTS_TEAM, "results-tables.md", table=BASELINES.stored()),
    WAITING_TIMES: Page(MODELS, "when.md", f"{when.VERSION}", RESULTS["next_event_time"].stored()),
    "dataset_stats": Page(RESULTS_TEAM, "results-tables.md", table=DATASET_STATS),
    "link_prediction": Page(RESULTS_TEAM, "results-tables.md", table=RESULTS["link_prediction"].stored()),
    "attention_auc": Page(RESULTS_TEAM, "results-tables.md", table=RESULTS["attention_auc"].stored()),
    "training_curves": Page(RESULTS_TEAM, "results-tables.md", table=RESULTS["training_curves"].stored()),
    "figures": Page(RESULTS_TEAM, "report.md"),
    "warehouse": Page(RESULTS_TEAM, "questions.md"),
    "report": Page(RESULTS_TEAM, "report.md"),
}


def explained(spec: AssetSpec, settings: Settings) -> AssetSpec:
    """Return `spec` with the metadata of its page; an asset without a page is unchanged."""
    page = PAGES.get(spec.key.path[-1])
    if page is None:
        return spec
    metadata: dict[str, Any] = {}
    if (document := DOCS / page.document).exists():  # an installed wheel has no docs
        metadata["docs"] = MetadataValue.path(document)
    if place := files(spec, settings.lake):
        metadata["files"] = MetadataValue.path(place.absolute())
    if spec.group_name == "results" and spec.key.path[-1] != "report":
        metadata["report"] = MetadataValue.path(settings.lake.report.absolute())
    if page.table is not None:
        metadata["dagster/column_schema"] = column_schema(page.table)
    partitions = spec.partitions_def
    if partitions == FILE_DAYS:  # followed days may lie outside the home's window
        partitions = followed_partitions(settings) if spec.group_name == FOLLOWING else home_days(settings)
    return spec.merge_attributes(owners=[page.owner], tags=tags(spec), metadata=metadata).replace_attributes(
        code_version=page.code, freshness_policy=page_freshness(spec, settings), partitions_def=partitions
    )


def tags(spec: AssetSpec) -> Mapping[str, str]:
    """Return the tags of an asset: its pipeline step and, if it has a key prefix, its dataset."""
    *lane, step = spec.key.path
    return {"ldg/step": step} | ({"ldg/dataset": lane[0]} if lane else {})


def files(spec: AssetSpec, lake: Lake) -> Path | None:
    """Return the file or folder of an asset, or None if it has none of its own."""
    *lane, step = spec.key.path
    if lane:
        folder = lake.dataset(lane[0])
        return {
            EVENT_TABLE: folder,
            NO_LEARN_BASELINES: lake.baselines(lane[0]),
            WAITING_TIMES: lake.waiting_times(lane[0]),
            TRAINED_MODELS: lake.models / lane[0],
            RENEWED_MODELS: lake.models / lane[0],
            "archive": lake.github_events,
            "day": lake.following,
            "subnetwork": lake.github_subnetwork,
        }.get(step)
    return {
        "gharchive_files": lake.gharchive_raw,
        "github_events": lake.github_events,
        "social_evolution_files": lake.social_evolution_raw,
        "figures": lake.figures,
        "warehouse": lake.warehouse,
        "report": lake.report,
    }.get(step, lake.results / f"{step}.parquet")


def page_freshness(spec: AssetSpec, settings: Settings) -> FreshnessPolicy | None:
    """Return the freshness policy: daily for the archive's assets if the window reaches the present."""
    keeps_up = settings.github_end >= (datetime.now(UTC) - PRESENT).date()
    if not keeps_up or spec.key.path[-1] not in ("gharchive_files", "github_events"):
        return spec.freshness_policy
    return FreshnessPolicy.time_window(fail_window=TOO_LATE, warn_window=LATE)
