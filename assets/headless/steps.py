"""Steps of a headless run: assets materialized in this process, with errors from failed checks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dagster import AssetCheckEvaluation, AssetCheckSeverity, AssetKey, DagsterInstance, JobDefinition

from assets.headless.instance import HEADLESS

# Dagster's events go to the instance and the UI only; the launcher prints one line per step.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
# The daemon must not retry a headless run; the user restarts it.
NOT_AGAIN = {"dagster/max_retries": "0"}
FINDINGS_SHOWN = 10
UNPRINTED = ("beats_best_baseline",)  # the tables at the end of a run show it for all models


@dataclass(frozen=True)
class Step:
    """A Dagster run: the assets it materializes, their partition, and its tags."""

    assets: tuple[AssetKey, ...]
    partition: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(key.to_user_string() for key in self.assets)
        return f"{names} {self.partition or ' … '.join(self.tags.values())}".strip()


class FailedCheckError(Exception):
    """A failed check of severity ERROR; the message lists the findings."""


def materialize(step: Step, job: JobDefinition, instance: DagsterInstance) -> list[str]:
    """Materialize `step` in this process; return the findings of failed checks of severity WARN.

    A failed check of severity ERROR raises FailedCheckError.
    """
    result = job.execute_in_process(
        asset_selection=step.assets,
        partition_key=step.partition,
        tags={**step.tags, **HEADLESS, **NOT_AGAIN},
        instance=instance,
        run_config=QUIET,
    )
    failed = [check for check in result.get_asset_check_evaluations() if not check.passed]
    if errors := findings(failed, AssetCheckSeverity.ERROR):
        raise FailedCheckError("\n".join(errors))
    return findings(failed, AssetCheckSeverity.WARN)


def findings(failed: Iterable[AssetCheckEvaluation], severity: AssetCheckSeverity) -> list[str]:
    """Return the findings of failed checks of this severity, one line per check, except `UNPRINTED`."""
    return [
        f"check {check.check_name} of {check.asset_key.to_user_string()} failed: "
        + "; ".join(f"{name} {finding_in_words(metadata.value)}" for name, metadata in check.metadata.items())
        for check in failed
        if check.severity is severity and check.check_name not in UNPRINTED
    ]


def finding_in_words(finding: object) -> str:
    """Format a check's finding; of a long list, only the first `FINDINGS_SHOWN`."""
    if not isinstance(finding, list):
        return str(finding)
    more = f" and {len(finding) - FINDINGS_SHOWN} more" if len(finding) > FINDINGS_SHOWN else ""
    return ", ".join(map(str, finding[:FINDINGS_SHOWN])) + more
