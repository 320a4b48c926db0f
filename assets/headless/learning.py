"""What a headless run learns in processes of their own: trainings, and the waiting times of datasets."""

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
    """A variant to be trained on a dataset of so many events; `resumed` if it goes on from a checkpoint."""

    dataset: str
    variant: Variant | RemVariant
    events: int
    resumed: bool = False

    def __str__(self) -> str:
        return f"{self.dataset}/trained_models {self.variant.key}"

    @property
    def weight(self) -> int:
        """How long it takes, relative to other trainings."""
        learns = self.variant.attention == "learned" and not self.variant.frequency
        return self.events * (LEARNED if learns else 1)

    @property
    def needs(self) -> set[tuple[str, str]]:
        """Dataset and key of another training whose weights it uses."""
        return set() if self.variant.needs is None else {(self.dataset, self.variant.needs)}

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and key of the variant."""
        return self.dataset, self.variant.key

    @property
    def step(self) -> Step:
        """What materializes it."""
        return Step((AssetKey([self.dataset, TRAINED_MODELS]),), self.variant.key)


@dataclass(frozen=True)
class WaitingTimes:
    """When nodes and pairs of a dataset of so many events have their next one, to be learned in one piece."""

    resumed: ClassVar[bool] = False  # they have no checkpoint

    dataset: str
    events: int

    def __str__(self) -> str:
        return f"{self.dataset}/{WAITING_TIMES}"

    @property
    def weight(self) -> int:
        """How long it takes, relative to a training."""
        return self.events

    @property
    def needs(self) -> set[tuple[str, str]]:
        """No training: they are learned from the event table."""
        return set()

    @property
    def key(self) -> tuple[str, str]:
        """Dataset, and what no variant is called."""
        return self.dataset, WAITING_TIMES

    @property
    def step(self) -> Step:
        """What materializes them."""
        return Step((AssetKey([self.dataset, WAITING_TIMES]),))


Learning = Training | WaitingTimes


def finished_training(training: Training, seconds: float) -> FinishedTraining:
    """A training that came to its end, as the record of sessions keeps it."""
    return FinishedTraining(*training.key, seconds=round(seconds, 3), resumed=training.resumed)


def trainings_at_a_time(settings: Settings) -> int:
    """How many trainings go on side by side: as the settings say, or as a cluster has room."""
    if not settings.cluster:
        return settings.trainings
    from pipeline.cluster.client import capacity  # `distributed` is an extra

    return capacity(settings.cluster)
