"""Waiting times that a home has learned, read back beside the event table they were learned from."""

import json
from pathlib import Path

from model.when.pairs import PairHazard
from model.when.settings import VERSION
from pipeline.lake import WAITS_FACTS


def stored_pairs(table: Path, fingerprint: str) -> PairHazard | None:
    """The pair hazard learned from the event table in the folder `table`; None where there is none."""
    folder = table.resolve().parents[1] / "waiting_times" / table.name
    try:
        learned = json.loads((folder / WAITS_FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if (learned["version"], learned["fingerprint"]) != (VERSION, fingerprint):
        return None
    return PairHazard.load(folder / "pairs.safetensors")
