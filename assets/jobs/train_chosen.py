"""The job `train_chosen`, which trains the chosen variants on the chosen datasets in parallel."""

from collections.abc import Iterator

from dagster import (
    Config,
    DynamicOut,
    DynamicOutput,
    Failure,
    JobDefinition,
    OpExecutionContext,
    ResourceParam,
    job,
    multiprocess_executor,
    op,
)
from pydantic import Field, create_model

from assets.forks import OF_STEPS
from assets.training import train_and_report
from assets.training_config import training_config
from pipeline.event_table import has_event_table
from pipeline.settings import Settings
from pipeline.sources.chosen import chosen_datasets, chosen_variants, in_training_order
from pipeline.sources.registry import registry


class Choice(Config):
    """The datasets and the variants to train; the defaults are LDG_DATASETS and LDG_VARIANTS."""

    datasets: list[str]
    variants: list[str]


def train_chosen(settings: Settings) -> JobDefinition:
    """Return the job, with the values of `settings` as defaults."""
    config_class = training_config(settings)
    choice_class = create_model(
        "Choice",
        __base__=Choice,
        datasets=(list[str], Field(list(settings.datasets), description="Their names; none: all there are.")),
        variants=(
            list[str],
            Field(list(settings.variants), description="Names of models, without interaction."),
        ),
    )

    @op(out=DynamicOut(list[str]))
    def chosen_trainings(
        context: OpExecutionContext,
        config: choice_class,  # ty: ignore[invalid-type-form] - its defaults are the settings'
        settings: ResourceParam[Settings],
    ) -> Iterator[DynamicOutput[list[str]]]:
        """Yield the trainings, `<dataset>/<variant>`, of each chosen dataset that has an event table.

        A model that uses the weights of another is in the same list, after it.
        """
        chosen = settings.model_copy(
            update={"datasets": tuple(config.datasets), "variants": tuple(config.variants)}
        )
        specs = chosen_datasets(chosen)
        ready = [spec for spec in specs if has_event_table(settings.lake.dataset(spec.name))]
        for spec in specs:
            if spec not in ready:
                context.log.warning(f"{spec.name} is left out: materialize {spec.name}/event_table first.")
        if not ready:
            raise Failure(f"None of {', '.join(spec.name for spec in specs)} has an event table yet.")
        for chain in in_training_order(chosen_variants(ready, chosen)):
            yield DynamicOutput(chain, mapping_key=chain[0].replace("/", "__").replace("-", "_"))

    @op(pool="training")
    def train(
        context: OpExecutionContext,
        trainings: list[str],
        config: config_class,  # ty: ignore[invalid-type-form] - its defaults are the settings'
        settings: ResourceParam[Settings],
    ) -> None:
        """Train the models of a list in order; each is logged as a materialization of its partition."""
        specs = {spec.name: spec for spec in registry(settings)}
        for training in trainings:
            dataset, _, key = training.partition("/")
            train_and_report(context, specs[dataset], key, config, settings)

    @job(
        executor_def=multiprocess_executor.configured(
            {"max_concurrent": settings.trainings, "start_method": OF_STEPS}
        ),
        description="Train the models that LDG_VARIANTS names on every dataset that LDG_DATASETS names. "
        "What is trained already with the same config is not repeated. Which models, on which datasets and "
        "how is the config of this job.",
    )
    def train_chosen() -> None:
        chosen_trainings().map(train)

    return train_chosen
