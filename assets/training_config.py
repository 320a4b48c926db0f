"""The run config of a training, shown in the launchpad: fields with bounds and defaults from the settings."""

from dataclasses import replace
from typing import Annotated, Any, cast

from dagster import Config
from pydantic import Field, create_model

from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from pipeline.rem_variants import RemVariant
from pipeline.settings import Settings, processors, values_taken, variable
from pipeline.variants import Variant, has_latent_edges

PAPER, REM = TrainingSettings(), RemSettings()
EDGE_TYPES = RemVariant().edge_types  # also the default of LDG
FROM_SETTINGS = ("seeds", "epochs", "batch", "learning_rate")
OF_THE_PAPER = ("epochs", "batch", "learning_rate", "d")


class RemConfig(Config):
    """Training parameters of relational-event models."""

    epochs: int = Field(
        REM.epochs, ge=1, description="Passes over the training events; half for a large stream."
    )
    batch: int = Field(REM.batch, ge=1, description="Events per optimizer step; twice for a large stream.")
    learning_rate: float = Field(REM.learning_rate, gt=0, le=1, description="The size of its steps.")
    candidates: int = Field(
        REM.candidates, ge=1, description="Partners drawn beside the true one, for each event and side."
    )
    dropout: float = Field(REM.dropout, ge=0, lt=1, description="Share of hidden units left out in learning.")


class TrainingConfig(Config):
    """Training parameters of a run; the settings are the defaults.

    A different config is a different training: the variant is retrained, and its folder records the config.
    """

    seeds: int
    epochs: int
    batch: int
    learning_rate: float
    d: int = Field(PAPER.d, ge=2, le=4096, description="Size of an embedding in the paper's models.")
    edge_types: int = Field(
        EDGE_TYPES, ge=1, le=16, description="How many kinds of latent edges LDG and the branching REM have."
    )
    threads: int = Field(
        1,
        ge=1,
        le=processors(),
        description="Threads of one training; results are reproduced with one, and trainings side by side "
        "use processors better than threads do.",
    )
    rem: RemConfig = Field(RemConfig(), description="A relational-event model has these of its own.")

    def variant(self, variant: Variant | RemVariant) -> Variant | RemVariant:
        """Return `variant` with the configured number of edge types if it has latent edges."""
        if not has_latent_edges(variant) or self.edge_types == EDGE_TYPES:
            return variant
        return replace(variant, edge_types=self.edge_types)

    def settings(self, variant: Variant | RemVariant) -> TrainingSettings | RemSettings:
        """Return the training settings of `variant`."""
        of_paper = replace(training_settings(self), d=self.d)
        if isinstance(variant, RemVariant):
            return replace(REM, seeds=of_paper.seeds, **self.rem.model_dump())
        return of_paper

    def refuse_vain(self, variant: Variant | RemVariant) -> None:
        """Raise ValueError if the config changes a field that the training of `variant` does not use."""
        vain = OF_THE_PAPER if isinstance(variant, RemVariant) else ("rem",)
        vain += () if has_latent_edges(variant) else ("edge_types",)
        fields = type(self).model_fields
        for name in vain:
            if getattr(self, name) != fields[name].default:
                instead = " (below rem are those it takes)" if name in RemConfig.model_fields else ""
                raise ValueError(f"the config's {name} means nothing to {variant.key}{instead}: leave it out")


def training_settings(asked: Settings | TrainingConfig) -> TrainingSettings:
    """Return the training settings of the paper's models from the settings or a run's config."""
    return replace(
        PAPER,
        seeds=tuple(range(asked.seeds)),
        epochs=asked.epochs,
        batch=asked.batch,
        learning_rate=asked.learning_rate,
    )


def training_config(settings: Settings) -> type[TrainingConfig]:
    """Return the config class whose defaults are the values of `settings`."""
    fields: dict[str, Any] = {name: as_set(name, settings) for name in FROM_SETTINGS}
    config_class = create_model(
        "TrainingConfig", __base__=TrainingConfig, __doc__=TrainingConfig.__doc__, **fields
    )
    return cast("type[TrainingConfig]", config_class)


def as_set(name: str, settings: Settings) -> tuple[Any, Any]:
    """Return a setting as a field of the config: its bounded type, default value and help text."""
    field = Settings.model_fields[name]
    help_text = f"{field.description} It takes {values_taken(field)}; the default is {variable(name)}."
    bounded = Annotated[(field.annotation, *field.metadata)]  # ty: ignore[invalid-type-form]
    return bounded, Field(getattr(settings, name), description=help_text)
