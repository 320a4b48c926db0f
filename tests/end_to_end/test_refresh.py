"""A day that the schedule brings refreshes what depends on it; one made by hand does not."""

from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, Definitions, evaluate_automation_conditions

from assets.definitions import build_definitions
from assets.schedules import REFRESH_TAG
from pipeline.settings import Settings
from tests.whole_system import environment

# One worker runs the system once for all tests that look at it.
pytestmark = pytest.mark.xdist_group("sample")

SUBNETWORK = AssetKey(["github", "subnetwork"])


@pytest.fixture
def definitions(sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> Definitions:
    for name, text in environment(sample_home).items():
        monkeypatch.setenv(name, text)
    return build_definitions(Settings.load())


def bring_day(definitions: Definitions, instance: DagsterInstance, tags: dict[str, str]) -> None:
    job = definitions.resolve_job_def("archive_day")
    done = job.execute_in_process(instance=instance, partition_key="2015-01-11", tags=tags)
    assert {check.check_name: check.passed for check in done.get_asset_check_evaluations()} == {
        "every_event_accounted_for": True,
        "little_quarantined": True,
        "columns_as_promised": True,
        "no_hour_failed": True,
    }


def test_only_a_scheduled_day_sets_off_a_refresh(definitions: Definitions) -> None:
    with DagsterInstance.get() as instance:
        first = evaluate_automation_conditions(definitions, instance)
        bring_day(definitions, instance, tags={})
        by_hand = evaluate_automation_conditions(definitions, instance, cursor=first.cursor)
        assert by_hand.total_requested == 0

        bring_day(definitions, instance, tags=REFRESH_TAG)
        scheduled = evaluate_automation_conditions(definitions, instance, cursor=by_hand.cursor)
        assert scheduled.get_num_requested(SUBNETWORK) == 1
