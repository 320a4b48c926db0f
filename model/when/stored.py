"""Loading of the waiting times that a home has learned from an event table."""

import json
from pathlib import Path

from model.when.pairs import PairHazard
from model.when.settings import VERSION
from pipeline.lake import WAITS_FACTS


def stored_pairs(table: Path, fingerprint: str) -> PairHazard | None:
    """Return the pair hazard learned from this event table, or None if it is missing or outdated."""
    folder = table.resolve().parents[1] / "waiting_times" / table.name
    try:
        learned = json.loads((folder / WAITS_FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if (learned["version"], learned["fingerprint"]) != (VERSION, fingerprint):
        return None
    return PairHazard.load(folder / "pairs.safetensors")
