"""Training settings of a relational-event model, and the identity of a training. Imports no torch."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from pipeline.paper_training import SEEDS
from pipeline.rem_variants import RemVariant

VERSION = 2  # of the statistics, the mathematics and the files: raise it when one of them changes
LARGE = 30_000  # training communications from which a stream counts as large
HUGE = 1_000_000  # and from which it counts as huge: one pass over it is enough


@dataclass(frozen=True)
class RemSettings:
    """Training settings. `seeds` share statistics and candidates, and nothing else.

    `candidates` negatives are drawn for each event and direction, again in every epoch. The first `silent`
    events are only observed: their past is too short to learn from. A large stream takes half the epochs and
    batches twice as large, so that the number of steps grows less than the stream; a huge one takes a quarter
    of the epochs and batches eight times as large.
    """

    seeds: tuple[int, ...] = tuple(range(SEEDS))
    epochs: int = 4
    batch: int = 32
    candidates: int = 30
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    dropout: float = 0.1
    warm_up: float = 0.1
    averaging: float = 0.0
    silent: int = 500
    hidden: tuple[int, int] = (48, 24)
    base_hidden: tuple[int, int] = (32, 16)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds takes one or more different whole numbers from 0, not {self.seeds}")
        for argument in ("epochs", "batch", "candidates"):
            if getattr(self, argument) < 1:
                raise ValueError(f"{argument} takes 1 or more, not {getattr(self, argument)}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate takes a number above 0, not {self.learning_rate}")
        for argument in ("dropout", "warm_up", "averaging"):
            if not 0 <= getattr(self, argument) < 1:
                raise ValueError(f"{argument} takes a number in [0, 1), not {getattr(self, argument)}")
        for argument in ("weight_decay", "silent"):
            if getattr(self, argument) < 0:
                raise ValueError(f"{argument} takes 0 or more, not {getattr(self, argument)}")

    def for_events(self, events: int) -> Self:
        """Return the settings for a stream with `events` communications to learn from."""
        if events < LARGE:
            return self
        fewer, larger = (2, 2) if events < HUGE else (4, 8)
        return replace(self, epochs=-(-self.epochs // fewer), batch=larger * self.batch)


def rem_identity(
    dataset: str, fingerprint: str, variant: RemVariant, settings: RemSettings
) -> dict[str, Any]:
    """Return the identity of a training, which its checkpoint and its finished folder must match."""
    return {
        "version": VERSION,
        "dataset": dataset,
        "fingerprint": fingerprint,
        "variant": variant.as_json(),
        "settings": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(settings).items()
        },
    }
