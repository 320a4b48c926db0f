"""A step of a headless run: some assets materialized in this process, whose failed checks count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dagster import AssetCheckEvaluation, AssetCheckSeverity, AssetKey, DagsterInstance, JobDefinition

from assets.headless.instance import HEADLESS

# A run's own events go to the instance, where the UI shows them; the terminal gets one line per run.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
# Whoever started a headless run starts it again, not the daemon.
NOT_AGAIN = {"dagster/max_retries": "0"}
FINDINGS_SHOWN = 10
UNPRINTED = ("beats_best_baseline",)  # of each model: the tables that a run ends with tell it of all


@dataclass(frozen=True)
class Step:
    """One Dagster run: which assets it makes, of which partition, with the tags it carries."""

    assets: tuple[AssetKey, ...]
    partition: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(key.to_user_string() for key in self.assets)
        return f"{names} {self.partition or ' … '.join(self.tags.values())}".strip()


class FailedCheckError(Exception):
    """What was made is not as it must be; the message says what the checks found."""


def materialize(step: Step, job: JobDefinition, instance: DagsterInstance) -> list[str]:
    """Make the assets of `step` in this process; return the findings of failed checks of severity WARN.

    A failed check of severity ERROR is an error here too.
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
    """What failed checks of this severity found, one line per check."""
    return [
        f"check {check.check_name} of {check.asset_key.to_user_string()} failed: "
        + "; ".join(f"{name} {finding_in_words(metadata.value)}" for name, metadata in check.metadata.items())
        for check in failed
        if check.severity is severity and check.check_name not in UNPRINTED
    ]


def finding_in_words(finding: object) -> str:
    """A check's finding in words; of a long list, its beginning."""
    if not isinstance(finding, list):
        return str(finding)
    more = f" and {len(finding) - FINDINGS_SHOWN} more" if len(finding) > FINDINGS_SHOWN else ""
    return ", ".join(map(str, finding[:FINDINGS_SHOWN])) + more
