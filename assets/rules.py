"""How the settings say that models are trained."""

from model.identity import TrainingSettings
from pipeline.settings import Settings


def training_settings(settings: Settings) -> TrainingSettings:
    """How models are trained."""
    return TrainingSettings(
        seeds=tuple(range(settings.seeds)),
        epochs=settings.epochs,
        batch=settings.batch,
        learning_rate=settings.learning_rate,
    )
