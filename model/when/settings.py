"""Hyperparameters and identity of waiting-time models. This module must not import torch."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.lake import WAITS_FACTS

VERSION = 2  # of the models and their files: increase it when either changes


@dataclass(frozen=True)
class HazardSettings:
    """Hyperparameters of node hazards; the first `skipped` waits only warm up the pass."""

    bins: int = 40
    epochs: int = 8
    batch: int = 128
    learning_rate: float = 3e-3
    weight_decay: float = 0.1
    dropout: float = 0.3
    hidden: int = 64
    width: int = 32
    skipped: int = 500

    def __post_init__(self) -> None:
        check(self, counts=("bins", "epochs", "batch", "hidden", "width"))


@dataclass(frozen=True)
class PairSettings:
    """Hyperparameters of pair hazards.

    `questions` is the number of nodes at a moment, each with all its candidates. Of the candidates with
    neither a past nor a later event, `strangers` are sampled and weighted to represent all of them.
    """

    questions: int = 12_000
    strangers: int = 20
    hidden: int = 32
    epochs: int = 3
    batch: int = 1_024
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check(self, counts=("questions", "strangers", "hidden", "epochs", "batch"))


@dataclass(frozen=True)
class WhenSettings:
    """Hyperparameters of both waiting-time models."""

    nodes: HazardSettings = field(default_factory=HazardSettings)
    pairs: PairSettings = field(default_factory=PairSettings)


def check(settings: HazardSettings | PairSettings, counts: tuple[str, ...]) -> None:
    """Raise ValueError for a value out of range; the settings named in `counts` must be 1 or more."""
    for name in counts:
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} takes 1 or more, not {getattr(settings, name)}")
    if not settings.learning_rate > 0:
        raise ValueError(f"learning_rate takes a number above 0, not {settings.learning_rate}")
    if not 0 <= settings.dropout < 1:
        raise ValueError(f"dropout takes a number in [0, 1), not {settings.dropout}")


def identity_of_waits(dataset: str, fingerprint: str, settings: WhenSettings) -> dict[str, Any]:
    """Return the inputs that determine learned waiting times: equal identities give equal files."""
    return {
        "version": VERSION,
        "dataset": dataset,
        "fingerprint": fingerprint,
        "settings": asdict(settings),
    }


def is_learned(folder: Path, wanted: dict[str, Any]) -> bool:
    """Return True if the folder holds finished waiting times with the identity `wanted`."""
    finished = folder / WAITS_FACTS
    return finished.exists() and json.loads(finished.read_text(encoding="utf-8")) == wanted
