"""Asset checks of the files that a run wrote; the rules are functions in `pipeline`."""

from collections.abc import Sequence
from datetime import date

import polars as pl
from dagster import AssetCheckResult, AssetCheckSeverity, AssetCheckSpec, AssetKey

from assets.chain import TRAINED_MODELS
from assets.partitions import variant_partitions
from pipeline.following.rule import LATE_DAYS
from pipeline.lake import Lake, read_parquet
from pipeline.schemas import GHARCHIVE_FILES
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path, read_account, unreadable
from pipeline.sources.gharchive.checks import (
    LARGEST_QUARANTINED_SHARE,
    account_faults,
    event_faults,
    failed_hours,
    quarantine_faults,
    quarantined_share,
    unbalanced_files,
)
from pipeline.sources.source import DatasetSpec

ARCHIVE_CHECKS = [
    AssetCheckSpec(
        "every_event_accounted_for",
        asset="github_events",
        description="For each file, events = kept + ignored + duplicates + quarantined.",
    ),
    AssetCheckSpec(
        "little_quarantined",
        asset="github_events",
        description=f"At most {LARGEST_QUARANTINED_SHARE:.0%} of the events could not be read.",
    ),
    AssetCheckSpec(
        "columns_as_promised",
        asset="github_events",
        description="What was written has the promised columns, no gaps and no self-interactions.",
    ),
    AssetCheckSpec(
        "no_hour_failed",
        asset="github_events",
        description="Every hour of every day of this home is here or known to be missing for good. Each tick "
        f"of a schedule asks again for those of the last {LATE_DAYS} days; materialize an older day to "
        "complete it.",
    ),
]


def judge_days(
    lake: Lake, days: Sequence[date], failed_hours_are: AssetCheckSeverity = AssetCheckSeverity.ERROR
) -> list[AssetCheckResult]:
    """Run the archive's checks on the days of a run, hour by hour to bound memory.

    `failed_hours_are` is the severity of failed hours: an error in the UI, a warning in a headless run.
    """
    accounts = {path: read_account(path) for path in (account_path(lake, day) for day in days)}
    readable = [account for account in accounts.values() if account is not None]
    account = pl.concat(readable) if readable else pl.DataFrame(schema=GHARCHIVE_FILES.types)
    unbalanced = unbalanced_files(account)
    share = quarantined_share(account)
    failed = failed_hours(lake)  # of all days: an incomplete day fails the check until it is complete
    faults = [*(unreadable(path) for path in accounts if accounts[path] is None), *account_faults(account)]
    for day in days:
        for part in sorted(lake.github_day(day).glob("*.parquet")):
            faults += [f"{day} {part.name}: {fault}" for fault in event_faults(read_parquet(part))]
        for part in sorted((lake.github_quarantine / f"date={day}").glob("*.parquet")):
            faults += [f"{day} {part.name}: {fault}" for fault in quarantine_faults(read_parquet(part))]
    return [
        result("every_event_accounted_for", not unbalanced, {"files": unbalanced}),
        result(
            "little_quarantined",
            share <= LARGEST_QUARANTINED_SHARE,
            {"share": share},
            AssetCheckSeverity.WARN,
        ),
        result("columns_as_promised", not faults, {"faults": faults}),
        result("no_hour_failed", not failed, {"files": failed}, failed_hours_are),
    ]


def result(
    check: str,
    passed: bool,
    evidence: dict[str, float | list[str]],
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR,
) -> AssetCheckResult:
    """Return a check result with its evidence as metadata."""
    return AssetCheckResult(passed=passed, check_name=check, metadata=evidence, severity=severity)


def warning_of_findings(check: str, findings: list[str]) -> AssetCheckResult:
    """Return a check result that warns if there are findings; it does not block downstream assets."""
    return AssetCheckResult(
        check_name=check,
        passed=not findings,
        severity=AssetCheckSeverity.WARN,
        metadata={"findings": findings},
    )


def training_checks(spec: DatasetSpec, settings: Settings) -> list[AssetCheckSpec]:
    """Return the specs of the checks of trained variants, partitioned by variant."""
    checks = {
        "beats_best_baseline": "Ranks the true partner better than the best predictor that learns nothing.",
        "did_not_diverge": "No seed stopped, and the loss ended no higher than it began.",
        "graph_not_degenerate": "The learned graph has edges, and they do not all weigh the same.",
    }
    return [
        AssetCheckSpec(
            name,
            asset=AssetKey([spec.name, TRAINED_MODELS]),
            description=description,
            partitions_def=variant_partitions(spec, settings),
        )
        for name, description in checks.items()
    ]
