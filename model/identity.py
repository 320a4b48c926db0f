"""Identity of a training: event table, variant, settings. Imports no torch, so that checking whether a
training can be resumed is cheap.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from model.rem.settings import RemSettings, rem_identity
from pipeline.paper_training import BATCH, EPOCHS, LEARNING_RATE, SEEDS
from pipeline.rem_variants import RemVariant
from pipeline.variants import Variant

VERSION = 3  # of the mathematics and the checkpoint format: raise it when either changes
RANKED = 2_000  # events of a period that are ranked in a large network
SENDERS = 64  # that represent all in the first pass of LDG's encoder, in a large network
# In the metadata of a checkpoint's file: its JSON part, and a checksum of that part and of the tensors.
HEADER, CHECKSUM = "state", "sha256"
EARLIER_CHECKSUM = "sha256"  # earlier versions: in the JSON part, and of the tensors alone


@dataclass(frozen=True)
class TrainingSettings:
    """Training settings as in the paper. `seeds` share one batched run without influencing one another.

    `senders` and `ranked` are for large networks (`model.large.rule`): the number of senders that represent
    all in the encoder's first pass, and of events ranked in the validation and in the test period.
    """

    seeds: tuple[int, ...] = tuple(range(SEEDS))
    epochs: int = EPOCHS
    batch: int = BATCH
    d: int = 32
    learning_rate: float = LEARNING_RATE
    betas: tuple[float, float] = (0.5, 0.999)
    encoder_weight_decay: float = 1e-4
    clip: float = 100.0
    snapshots: int = 8
    checkpoint_minutes: float = 5.0
    senders: int = SENDERS
    ranked: int = RANKED

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds takes one or more different whole numbers from 0, not {self.seeds}")
        for argument, smallest in (
            ("epochs", 1),
            ("batch", 1),
            ("d", 2),
            ("snapshots", 2),
            ("senders", 2),
            ("ranked", 1),
        ):
            if getattr(self, argument) < smallest:
                raise ValueError(f"{argument} takes {smallest} or more, not {getattr(self, argument)}")
        for argument in ("learning_rate", "clip"):
            if not getattr(self, argument) > 0:
                raise ValueError(f"{argument} takes a number above 0, not {getattr(self, argument)}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas takes two numbers in [0, 1), not {self.betas}")
        for argument in ("encoder_weight_decay", "checkpoint_minutes"):
            if getattr(self, argument) < 0:
                raise ValueError(f"{argument} takes 0 or more, not {getattr(self, argument)}")


def rem_settings(settings: TrainingSettings | RemSettings) -> RemSettings:
    """Return settings of a relational-event model; of the paper's settings it uses the seeds alone."""
    return settings if isinstance(settings, RemSettings) else RemSettings(seeds=settings.seeds)


def identity(
    dataset: str, fingerprint: str, variant: Variant | RemVariant, settings: TrainingSettings | RemSettings
) -> dict[str, Any]:
    """Return the identity of a training, which its checkpoint and its finished folder must match.

    `fingerprint` is that of the dataset's event table.
    """
    if isinstance(variant, RemVariant):
        return rem_identity(dataset, fingerprint, variant, rem_settings(settings))
    decisive = {name: value for name, value in asdict(settings).items() if name != "checkpoint_minutes"}
    for name, usual in (("senders", SENDERS), ("ranked", RANKED)):
        if decisive[name] == usual:  # trainings that predate these settings keep their identity
            del decisive[name]
    return {
        "version": VERSION,
        "dataset": dataset,
        "fingerprint": fingerprint,
        "variant": asdict(variant),
        "settings": {
            name: list(value) if isinstance(value, tuple) else value for name, value in decisive.items()
        },
    }


def differences(facts: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """List how a finished training differs from the expected identity: `epochs 5, not 3`, for instance."""
    other = []
    for part, value in expected.items():
        there = facts.get(part)
        if isinstance(value, dict) and isinstance(there, dict):
            names = [name for name in value if there.get(name) != value[name]]
            other += [f"{name} {there.get(name)}, not {value[name]}" for name in names]
        elif there != value:
            other.append("another event table" if part == "fingerprint" else f"another {part}")
    return other


def resumable(checkpoint: Path, expected: dict[str, Any]) -> bool:
    """Return whether a training of this identity can resume from `checkpoint`, judging by its header."""
    try:
        with safe_open(checkpoint, framework="numpy") as file:
            metadata = file.metadata() or {}
        header = json.loads(metadata.get(HEADER, "null"))
    except (SafetensorError, ValueError, RecursionError, OSError):
        return False
    return CHECKSUM in metadata and isinstance(header, dict) and header.get("identity") == expected
