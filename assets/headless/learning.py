"""Work that a headless run does in child processes: trainings and waiting times of datasets."""

from dataclasses import dataclass
from typing import ClassVar

from dagster import AssetKey

from assets.chain import TRAINED_MODELS, WAITING_TIMES
from assets.headless.steps import Step
from pipeline.rem_variants import RemVariant
from pipeline.runs import FinishedTraining
from pipeline.settings import Settings
from pipeline.variants import Variant

LEARNED = 5  # a training that learns attention takes about as long as five others


@dataclass(frozen=True)
class Training:
    """A training of a variant on a dataset of `events` events; `resumed` if it has a checkpoint."""

    dataset: str
    variant: Variant | RemVariant
    events: int
    resumed: bool = False

    def __str__(self) -> str:
        return f"{self.dataset}/trained_models {self.variant.key}"

    @property
    def weight(self) -> int:
        """Expected duration relative to other trainings."""
        learns = self.variant.attention == "learned" and not self.variant.frequency
        return self.events * (LEARNED if learns else 1)

    @property
    def needs(self) -> set[tuple[str, str]]:
        """Dataset and variant of the training whose weights it uses; empty if there is none."""
        return set() if self.variant.needs is None else {(self.dataset, self.variant.needs)}

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and variant, which identify the training."""
        return self.dataset, self.variant.key

    @property
    def step(self) -> Step:
        """The step that materializes the model."""
        return Step((AssetKey([self.dataset, TRAINED_MODELS]),), self.variant.key)


@dataclass(frozen=True)
class WaitingTimes:
    """A fit of the waiting-time models of a dataset of `events` events."""

    resumed: ClassVar[bool] = False  # they have no checkpoint

    dataset: str
    events: int

    def __str__(self) -> str:
        return f"{self.dataset}/{WAITING_TIMES}"

    @property
    def weight(self) -> int:
        """Expected duration relative to a training."""
        return self.events

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The empty set: the fit needs the event table only."""
        return set()

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and asset name; no variant has this name."""
        return self.dataset, WAITING_TIMES

    @property
    def step(self) -> Step:
        """The step that materializes the waiting times."""
        return Step((AssetKey([self.dataset, WAITING_TIMES]),))


Learning = Training | WaitingTimes


def finished_training(training: Training, seconds: float) -> FinishedTraining:
    """Return the entry of a finished training in the session record."""
    return FinishedTraining(*training.key, seconds=round(seconds, 3), resumed=training.resumed)


def trainings_at_a_time(settings: Settings) -> int:
    """Return the number of parallel trainings: LDG_TRAININGS, or the capacity of the cluster."""
    if not settings.cluster:
        return settings.trainings
    from pipeline.cluster.client import capacity  # `distributed` is an extra

    return capacity(settings.cluster)
