"""Training of one variant, locally or on a cluster, for assets and jobs."""

from collections.abc import Mapping
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetKey,
    AssetMaterialization,
    MaterializeResult,
)

from assets.chain import TRAINED_MODELS
from assets.locks import Context, model_locked, run_name, training_slot
from assets.metadata import shown_training
from assets.training_config import TrainingConfig
from assets.versions import version_of_training, version_tags
from model.identity import differences, identity
from model.training_task import training_task
from pipeline.cluster.run import run_task
from pipeline.results.standing import Standing, degenerate_graph, faults_of_training, standing
from pipeline.results.trained import TrainedVariant, present_fingerprint, read_facts
from pipeline.settings import Settings
from pipeline.sources.source import DatasetSpec
from pipeline.storage.share import bring_things
from pipeline.storage.things import trained_model
from pipeline.variant_names import split_key
from pipeline.variants import has_latent_edges, model_named


def train_variant(
    context: Context, spec: DatasetSpec, key: str, config: TrainingConfig, settings: Settings
) -> MaterializeResult:
    """Train the variant `key` on the dataset's event table; return its metrics and checks."""
    lake = settings.lake
    folder = lake.model(spec.name, key)
    variant = config.variant(model_named(key, spec.relations))
    chosen_settings = config.settings(variant)
    with model_locked(context, lake, spec.name, key), training_slot(context, settings):
        if variant.needs is not None:
            bring_things(lake, trained_model(spec.name, variant.needs), log=context.log.info)
        expected = identity(spec.name, present_fingerprint(lake, spec.name), variant, chosen_settings)
        if earlier := differences(read_facts(folder) or expected, expected):
            context.log.warning(f"{key} was trained otherwise ({'; '.join(earlier)}): it is trained anew.")
        task = training_task(spec.name, variant, chosen_settings, config.threads, run_name(context))
        facts = run_task(task, lake, settings.cluster, context.log.info)
        trained = TrainedVariant(folder, spec.name, *split_key(key), facts)
        stands = standing(lake, trained)
        return MaterializeResult(
            asset_key=AssetKey([spec.name, TRAINED_MODELS]),
            metadata=shown_training(trained, stands),
            data_version=version_of_training(facts),
            check_results=verdicts(trained, stands, latent=has_latent_edges(variant)),
        )


def train_and_report(
    context: Context, spec: DatasetSpec, key: str, config: TrainingConfig, settings: Settings
) -> MaterializeResult:
    """Train a variant in a step of another asset or job; log its materialization and checks."""
    result = train_variant(context, spec, key, config, settings)
    assert result.asset_key is not None
    assert result.data_version is not None
    context.log_event(
        AssetMaterialization(
            result.asset_key, partition=key, metadata=result.metadata, tags=version_tags(result.data_version)
        )
    )
    for verdict in result.check_results or ():
        context.log_event(  # its annotation omits checks
            AssetCheckEvaluation(  # ty: ignore[invalid-argument-type]
                asset_key=result.asset_key,
                check_name=verdict.check_name or "",
                passed=verdict.passed,
                severity=verdict.severity,
                metadata=verdict.metadata,
                partition=key,
            )
        )
    return result


def verdicts(trained: TrainedVariant, stands: Standing, *, latent: bool) -> list[AssetCheckResult]:
    """Return the check results of a trained variant: warnings, which do not block downstream assets."""
    findings: Mapping[str, tuple[list[str], Mapping[str, Any]]] = {
        "beats_best_baseline": (
            stands.lost,
            {"mar": stands.metrics["mar"], "best baseline": stands.baseline or "not made yet"},
        ),
        "did_not_diverge": (faults_of_training(trained), {}),
        "graph_not_degenerate": (degenerate_graph(trained) if latent else [], {}),
    }
    return [
        AssetCheckResult(
            check_name=name,
            asset_key=AssetKey([trained.dataset, TRAINED_MODELS]),
            passed=not faults,
            severity=AssetCheckSeverity.WARN,
            metadata={"findings": faults, **more},
        )
        for name, (faults, more) in findings.items()
    ]
