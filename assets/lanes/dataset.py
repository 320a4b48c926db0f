"""The asset chain of one dataset: event table, trained models, waiting times and baselines."""

from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    BackfillPolicy,
    Failure,
    MaterializeResult,
    ResourceParam,
    asset,
)

from assets.chain import EVENT_TABLE, NO_LEARN_BASELINES, RENEWED_MODELS, TRAINED_MODELS, WAITING_TIMES
from assets.checks import training_checks
from assets.locks import model_locked, run_name, table_locked, training_slot
from assets.metadata import shown
from assets.partitions import variant_partitions
from assets.training import train_and_report, train_variant
from assets.training_config import training_config
from assets.versions import version_of_facts, version_of_files
from model.when.task import waiting_times_task
from pipeline.cluster.run import run_task
from pipeline.event_table import check_event_table, read_event_table, write_event_table
from pipeline.lake import Lake, read_parquet, write_parquet
from pipeline.results.baselines import baselines
from pipeline.schemas import NEXT_EVENT_TIME
from pipeline.settings import Settings
from pipeline.sources.source import DatasetSpec
from pipeline.text import escape_markdown
from pipeline.variants import model_named, models_for


def dataset_chain(spec: DatasetSpec, settings: Settings) -> list[AssetsDefinition]:
    """Return the assets of `spec`, a lane in the UI; `settings` are the defaults of their run config."""
    table_key = AssetKey([spec.name, EVENT_TABLE])
    title = escape_markdown(spec.title)
    table_check = AssetCheckSpec(
        "well_formed",
        asset=table_key,
        description="The table keeps its contract; nothing is trained on one that does not.",
        blocking=True,
    )

    @asset(
        key=table_key,
        group_name=spec.name,
        kinds={"parquet", "polars"},
        deps=[AssetKey.from_user_string(spec.source.upstream)] if spec.source.upstream else [],
        description=f"{title}: nodes, events in order of time, splits and association graphs. "
        f"{escape_markdown(spec.description)}",
        check_specs=[table_check],
    )
    def event_table(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
        folder = settings.lake.dataset(spec.name)
        spec.source.bring_shared(settings, run_name(context), context.log.info)
        with table_locked(context, settings.lake, spec.name, *spec.source.shared_with_table):
            write_event_table(spec.build(settings), folder)
            table = read_event_table(folder)
        violations = check_event_table(table)
        fingerprint = table.metadata["fingerprint"]
        return MaterializeResult(
            metadata=shown(table.events, **table.metadata["stats"], fingerprint=fingerprint),
            data_version=version_of_facts(fingerprint),
            check_results=[
                AssetCheckResult(
                    passed=not violations, check_name="well_formed", metadata={"violations": violations}
                )
            ],
        )

    config_class = training_config(settings)

    @asset(
        key=[spec.name, TRAINED_MODELS],
        group_name=spec.name,
        kinds={"pytorch"},
        deps=[table_key],
        partitions_def=variant_partitions(spec, settings),
        backfill_policy=BackfillPolicy.multi_run(max_partitions_per_run=1),
        pool="training",
        check_specs=training_checks(spec, settings),
        description=f"DyRep, LDG and relational-event models trained on {title}, all seeds of a variant "
        "at once, with everything measured on the way: losses, attention over time, embeddings, the ranking "
        "of every test event. "
        "A killed run goes on from its last checkpoint; a finished one is reused while its data and its "
        "config stay.\n\nPartitions are the models of LDG_VARIANTS and those that were trained before. "
        "To train another one, add it to LDG_VARIANTS and reload the code location, or name it in the config "
        "of the job `train_chosen`.",
    )
    def trained_models(
        context: AssetExecutionContext,
        config: config_class,  # ty: ignore[invalid-type-form] - its defaults are the settings'
        settings: ResourceParam[Settings],
    ) -> MaterializeResult:
        config.refuse_vain(model_named(context.partition_key, spec.relations))
        return train_variant(context, spec, context.partition_key, config, settings)

    @asset(
        key=[spec.name, NO_LEARN_BASELINES],
        group_name=spec.name,
        kinds={"polars"},
        deps=[table_key],
        description=f"What predictors that learn nothing reach on {title}: random, frequency, recency, "
        "associates. A model that loses to them is not yet useful.",
    )
    def no_learn_baselines(
        context: AssetExecutionContext, settings: ResourceParam[Settings]
    ) -> MaterializeResult:
        stored = settings.lake.baselines(spec.name)
        with table_locked(context, settings.lake, spec.name, *spec.source.shared_with_table):
            table = baselines(read_event_table(settings.lake.dataset(spec.name)))
            write_parquet(table, stored)
            version = version_of_files([stored])
        return MaterializeResult(metadata=shown(table), data_version=version)

    @asset(
        key=[spec.name, WAITING_TIMES],
        group_name=spec.name,
        kinds={"pytorch"},
        deps=[table_key],
        pool="training",
        description=f"When nodes and pairs of {title} have their next event: distributions, learned and "
        "scored beside predictors that learn nothing.",
    )
    def waiting_times(context: AssetExecutionContext, settings: ResourceParam[Settings]) -> MaterializeResult:
        lake = settings.lake
        with model_locked(context, lake, spec.name, WAITING_TIMES), training_slot(context, settings):
            task = waiting_times_task(spec.name)
            learned = run_task(task, lake, settings.cluster, context.log.info)
            scores = read_parquet(lake.waiting_times(spec.name) / f"{NEXT_EVENT_TIME.name}.parquet")
        return MaterializeResult(metadata=shown(scores), data_version=version_of_facts(learned))

    @asset(
        key=[spec.name, RENEWED_MODELS],
        group_name=spec.name,
        kinds={"pytorch"},
        deps=[table_key, no_learn_baselines],
        pool="training",
        description=f"Every model that was trained on {title} before, on the event table as it is now: "
        "what the sensor `refresh` makes, in one run. Each counts as a materialization of its partition of "
        "`trained_models`; one that is finished already is reused. `ldg run` reports it as made unless a "
        "model of an earlier event table is left.",
    )
    def renewed_models(
        context: AssetExecutionContext,
        config: config_class,  # ty: ignore[invalid-type-form] - its defaults are the settings'
        settings: ResourceParam[Settings],
    ) -> MaterializeResult:
        versions, failed = {}, []
        for key in begun_variants(settings.lake, spec):
            try:
                versions[key] = train_and_report(context, spec, key, config, settings).data_version
            except Exception as error:  # a failed training does not stop the others
                context.log.error(f"{key}: {error}")
                failed.append(key)
        if failed:
            raise Failure(
                f"{', '.join(failed)} could not be trained; the others are: the log has the reasons"
            )
        facts = {key: version.value for key, version in versions.items()}
        return MaterializeResult(metadata={"models": len(facts)}, data_version=version_of_facts(facts))

    chain = [event_table, trained_models, no_learn_baselines, waiting_times]
    return [*chain, renewed_models] if spec.source.is_daily else chain


def begun_variants(lake: Lake, spec: DatasetSpec) -> list[str]:
    """Return the keys of a dataset's variants whose training was begun or finished."""
    return [
        variant.key for variant in models_for(spec.relations) if lake.model(spec.name, variant.key).exists()
    ]
