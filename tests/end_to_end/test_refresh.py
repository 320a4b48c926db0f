"""A day that the schedule brings refreshes what depends on it, in one run; one made by hand does not."""

import gzip
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, Definitions, RunRequest, SkipReason, build_sensor_context

from assets.partitions import day_range
from assets.refresh import REFRESH_TAG, refresh
from assets.system import build_definitions
from pipeline.lake import Lake
from pipeline.results.trained import present_fingerprint, trained_variants
from pipeline.settings import Settings
from tests.whole_system import environment

# One worker runs the system once for all tests that look at it.
pytestmark = pytest.mark.xdist_group("sample")
MODEL = "dyrep-bilinear"
REFRESHED_STEPS = {"subnetwork", "event_table", "no_learn_baselines", "renewed_models"}


@dataclass
class Watched:
    """A home whose days are brought, and what the sensor asks for."""

    settings: Settings
    definitions: Definitions
    instance: DagsterInstance
    cursor: str | None = None

    def bring(self, day: str, tags: dict[str, str]) -> None:
        """Bring a day as the schedule does, or by hand."""
        job = self.definitions.resolve_job_def("archive_day")
        file_day = date.fromisoformat(day)
        done = job.execute_in_process(instance=self.instance, tags={**tags, **day_range(file_day, file_day)})
        assert done.success

    def look(self) -> RunRequest | SkipReason:
        """One evaluation of the sensor."""
        with build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"settings": self.settings}
        ) as context:
            request = refresh(context)
            self.cursor = context.cursor
        assert isinstance(request, RunRequest | SkipReason)
        return request


@pytest.fixture
def watched(sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    home = tmp_path / "home"
    shutil.copytree(sample_home, home)
    archive = tmp_path / "archive"
    shutil.copytree(home / "sample_world" / "gharchive", archive)
    for folder in (
        Lake(home).model("github", "*").parent.iterdir()
    ):  # one small model is enough to see it made
        if folder.name != MODEL:
            shutil.rmtree(folder)
    more = {"LDG_GHARCHIVE_URL": str(archive), "LDG_SEEDS": "1", "LDG_EPOCHS": "1"}
    for name, text in environment(home, **more).items():
        monkeypatch.setenv(name, text)
    settings = Settings.load()
    with DagsterInstance.get() as instance:
        yield Watched(settings, build_definitions(settings), instance)


def add_an_event(settings: Settings, day: str) -> None:
    """Publish an hour of the archive anew, with one more event."""
    path = next(Path(settings.gharchive_url).rglob(f"{day}-5.json.gz"))
    lines = gzip.decompress(path.read_bytes()).splitlines()
    path.write_bytes(gzip.compress(b"\n".join([*lines, lines[0].replace(b'"id":"', b'"id":"9', 1)])))


def test_a_scheduled_day_that_changed_sets_off_one_run_of_what_was_made_before(watched: Watched) -> None:
    assert isinstance(watched.look(), SkipReason), "what is there when the sensor is switched on is taken"
    watched.bring("2015-01-11", tags=REFRESH_TAG)
    request = watched.look()
    assert isinstance(request, SkipReason)
    assert "No day of the network changed" in str(request.skip_message)

    add_an_event(watched.settings, "2015-01-11")
    watched.bring("2015-01-11", tags={})
    assert isinstance(watched.look(), SkipReason), "brought by hand"

    watched.bring("2015-01-10", tags=REFRESH_TAG)
    request = watched.look()
    assert isinstance(request, RunRequest)
    names = {key.to_user_string() for key in request.asset_selection or ()}
    assert {"github/subnetwork", "github/renewed_models", "link_prediction", "warehouse", "report"} <= names

    watched.bring("2015-01-10", tags=REFRESH_TAG)
    again = watched.look()
    assert isinstance(again, RunRequest), "the refresh that was asked for did not come to its end"
    job = watched.definitions.resolve_job_def("refresh_what_changed")
    part = [key for key in request.asset_selection or () if key.path[-1] in REFRESHED_STEPS]
    assert job.execute_in_process(instance=watched.instance, asset_selection=part, tags=again.tags).success
    (trained,) = trained_variants(watched.settings.lake, "github")
    assert (trained.key, trained.facts["seeds"]) == (MODEL, [0]), "trained anew, by the settings of now"
    assert trained.fingerprint == present_fingerprint(watched.settings.lake, "github")
    latest = watched.instance.get_latest_materialization_event(AssetKey(["github", "trained_models"]))
    assert latest is not None
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.partition == MODEL
    watched.bring("2015-01-10", tags=REFRESH_TAG)
    assert isinstance(watched.look(), SkipReason)


def test_a_day_outside_the_network_sets_off_nothing(watched: Watched) -> None:
    watched.look()
    outside = watched.settings.last_github_day() + timedelta(days=1)
    watched.definitions = build_definitions(watched.settings.model_copy(update={"github_end": outside}))
    watched.bring(outside.isoformat(), tags=REFRESH_TAG)
    request = watched.look()
    assert isinstance(request, SkipReason)
    assert "No day of the network changed" in str(request.skip_message)
