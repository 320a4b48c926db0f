"""Finished trainings: detection and reading of a variant's folder.

`model.json` is written last, so a folder without it is unfinished. Imports no torch.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from pipeline.event_table import newest_time, read_metadata
from pipeline.lake import Lake, read_parquet, scan_parquet
from pipeline.rem_variants import RemVariant
from pipeline.schemas import FINGERPRINT, MODEL, TABLE_END, Table
from pipeline.variant_names import BILINEAR, CONCAT, ldg_name, split_key, variant_key
from pipeline.variants import Variant, in_print_order, variant_title

# Files in a training's folder.
FACTS = "model.json"  # written last
CHECKPOINT = "checkpoint.safetensors"  # an unfinished training resumes from it
DATASET = "dataset"  # the event table of a training on a data frame, stored with the model
WEIGHTS, STATE = "weights.safetensors", "state.safetensors"


@dataclass(frozen=True)
class TrainedVariant:
    """A finished training: folder, variant name, interaction, and the content of `model.json`."""

    folder: Path
    dataset: str
    variant: str
    interaction: str
    facts: dict[str, Any]
    as_of: datetime | None = None  # newest event of its event table, if that is the present one

    @property
    def key(self) -> str:
        """The variant's key: name and interaction."""
        return variant_key(self.variant, self.interaction)

    @property
    def fingerprint(self) -> str:
        """The hash of the event table it was trained on."""
        return self.facts["fingerprint"]

    def described(self, relations: Sequence[str]) -> Variant | RemVariant | None:
        """Return the variant's definition for a dataset with these relations; None for an unknown name."""
        return in_print_order(relations).get(self.variant)

    def label(self, relations: Sequence[str]) -> str:
        """Return the printed name and interaction: "LDG (learned, sparse), bilinear"."""
        return f"{variant_title(self.variant, relations)}, {self.interaction}"

    def path(self, records: str) -> Path:
        """Return the path of one of the training's tables."""
        return self.folder / f"{records}.parquet"

    def read(self, records: str) -> pl.DataFrame:
        """Read one of the training's tables."""
        return read_parquet(self.path(records))

    def of_first_seed(self, records: str) -> pl.DataFrame:
        """Read the rows of the first seed in one of the training's tables."""
        return self.read(records).filter(pl.col("seed") == pl.col("seed").min())

    def has_rows(self, records: str) -> bool:
        """Return whether a table exists and is not empty; static graph networks have no attention."""
        path = self.path(records)
        return path.exists() and pq.read_metadata(path).num_rows > 0

    def named(self, rows: pl.DataFrame, table: Table) -> pl.DataFrame:
        """Add the training's names and origin to `rows`, in the stored schema of the result table `table`."""
        values = (self.dataset, self.variant, self.interaction)
        names = {column.name: pl.lit(value) for column, value in zip(MODEL, values, strict=False)}
        origin = {TABLE_END.name: pl.lit(self.as_of), FINGERPRINT.name: pl.lit(self.fingerprint)}
        return table.stored().cast(rows.with_columns(**names, **origin))


def read_facts(folder: Path) -> dict[str, Any] | None:
    """Read `model.json`; None if the training is not finished."""
    path = folder / FACTS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def finished(folder: Path, expected: dict[str, Any]) -> dict[str, Any] | None:
    """Return the content of `model.json` if the training is finished and agrees with `expected`."""
    facts = read_facts(folder)
    agrees = facts is not None and all(facts.get(key) == value for key, value in expected.items())
    return facts if agrees else None


def trained_variants(lake: Lake, dataset: str) -> list[TrainedVariant]:
    """Return the finished trainings of a dataset by key, including those on earlier event tables."""
    return [
        TrainedVariant(folder, dataset, *split_key(folder.name), facts)
        for folder in sorted(lake.model(dataset, "*").parent.glob("*"))
        if (facts := read_facts(folder)) is not None
    ]


def present_fingerprint(lake: Lake, dataset: str) -> str:
    """Return the hash of a dataset's present event table."""
    return read_metadata(lake.dataset(dataset))["fingerprint"]


def current_variants(lake: Lake, dataset: str) -> list[TrainedVariant]:
    """Return the finished trainings on the present event table; event numbers differ between tables."""
    present = present_fingerprint(lake, dataset)
    as_of = newest_time(scan_parquet(lake.dataset(dataset) / "events.parquet"))
    trained = trained_variants(lake, dataset)
    return [replace(one, as_of=as_of) for one in trained if one.fingerprint == present]


def with_records(trained: Sequence[TrainedVariant], records: str) -> list[TrainedVariant]:
    """Return the trainings that have rows in `<records>.parquet`."""
    return [one for one in trained if one.has_rows(records)]


def showcase(trained: Sequence[TrainedVariant], relations: Sequence[str]) -> TrainedVariant:
    """Choose the training whose graph is shown where only one fits: the paper's, else a learned one."""
    preferred = [variant_key(ldg_name("learned", "sparse"), how) for how in (BILINEAR, CONCAT)]
    preferred.append(variant_key(ldg_name("learned", "uniform"), BILINEAR))

    def place(one: TrainedVariant) -> tuple[int, bool]:
        variant = one.described(relations)
        learned = variant is not None and variant.attention == "learned"
        return preferred.index(one.key) if one.key in preferred else len(preferred), not learned

    return min(trained, key=place)
