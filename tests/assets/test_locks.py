"""Runs on the same home, in processes of their own, keep out of each other's way."""

import re
from contextlib import suppress
from datetime import date, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import polars as pl
import psutil
import pytest
from dagster import AssetKey, DagsterInstance, Definitions

from assets import locks
from assets.headless.instance import HEADLESS
from assets.lanes.dataset import dataset_chain
from assets.settings_resource import settings_resource
from assets.system import build_definitions
from pipeline.locks import LockedError, hold, hold_one_of
from pipeline.settings import Settings
from pipeline.sources.gharchive.account import account_path
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.registry import registry
from tests.pipeline.sources.gharchive.making import lines, modern, store
from tests.whole_system import PATIENCE, environment, run_at_once, start_ldg, start_module, wait_for

FIRST = date(2015, 1, 2)
DAYS = [FIRST + timedelta(days=number) for number in range(3)]
RUNS = 2


def bring_days(settings: Settings, together: Barrier) -> None:
    """Each of `DAYS` in turn, at the same moment as every other process; if one fails, all do."""
    try:
        job = build_definitions(settings).resolve_job_def("archive_day")
        for day in DAYS:
            together.wait(PATIENCE)
            job.execute_in_process(partition_key=day.isoformat(), instance=DagsterInstance.ephemeral())
    except Exception:
        together.abort()
        raise


@pytest.mark.slow
def test_runs_of_the_same_day_that_keep_no_raw_files_all_succeed(tmp_path: Path) -> None:
    for day in DAYS:
        for hour in range(24):
            store(tmp_path / "source" / file_name(day, hour), lines([modern(f"{day}-{hour}")]))
    settings = Settings(
        home=tmp_path / "home", github_end=DAYS[-1], gharchive_url=str(tmp_path / "source"), keep_raw=False
    )
    assert run_at_once(bring_days, settings, processes=RUNS) == [0] * RUNS
    for day in DAYS:
        assert pl.read_parquet(account_path(settings.lake, day))["kept"].sum() == 24
    assert not list(settings.lake.gharchive_raw.rglob("*.json.gz"))


@pytest.mark.parametrize("tags", [{}, HEADLESS], ids=["in the UI", "headless"])
def test_a_variant_that_another_run_trains_is_refused_at_once(
    office_with_table: Settings, tags: dict[str, str]
) -> None:
    office = office_with_table
    (spec,) = (spec for spec in registry(office) if spec.name == "office")
    chain = Definitions(assets=dataset_chain(spec, office), resources={"settings": settings_resource(office)})
    job, instance = chain.resolve_implicit_global_asset_job_def(), DagsterInstance.ephemeral()

    def train() -> bool:
        return job.execute_in_process(
            asset_selection=[AssetKey(["office", "trained_models"])],
            partition_key="dyrep-concat",
            instance=instance,
            tags=tags,
        ).success

    message = r"dyrep-concat is being trained on office by .*\(Dagster run 1a2b3c4d\)"
    lock = office.lake.lock("models", "office", "dyrep-concat")
    with hold(lock, "", "Dagster run 1a2b3c4d"), pytest.raises(LockedError, match=message):
        train()
    assert not office.lake.model("office", "dyrep-concat").exists()
    assert train()


@pytest.mark.parametrize("tags", [{}, HEADLESS], ids=["in the UI", "headless"])
def test_a_training_waits_for_a_slot_of_the_home_and_says_who_has_it(
    office_with_table: Settings,
    tags: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = office_with_table.model_copy(update={"trainings": 1})
    (spec,) = (spec for spec in registry(settings) if spec.name == "office")
    resources = {"settings": settings_resource(settings)}
    chain = Definitions(assets=dataset_chain(spec, settings), resources=resources)
    job, instance = chain.resolve_implicit_global_asset_job_def(), DagsterInstance.ephemeral()
    monkeypatch.setattr(locks, "LONGEST_WAIT_FOR_A_SLOT", 0.3)

    def train() -> bool:
        return job.execute_in_process(
            asset_selection=[AssetKey(["office", "trained_models"])],
            partition_key="dyrep-concat",
            instance=instance,
            tags=tags,
        ).success

    taken = r"every slot for training \(1\) is taken by process \d+ \(headless run 1a2b3c4d\) since .* UTC"
    slot = settings.lake.lock("slots", "training", "0")
    with hold(slot, "", "headless run 1a2b3c4d"), pytest.raises(LockedError, match=f"{taken}, waited"):
        train()
    errors = capsys.readouterr().err
    on_a_line_of_its_own = re.search(rf"^{taken}: waiting up to", errors, re.MULTILINE)
    assert bool(on_a_line_of_its_own) is bool(tags)
    assert train()


@pytest.mark.slow
def test_a_run_of_the_ui_and_a_headless_one_share_the_slots_of_a_home(office: Settings) -> None:
    chain = build_definitions(office).resolve_implicit_global_asset_job_def()
    assert chain.execute_in_process(asset_selection=[AssetKey(["office", "event_table"])]).success
    around = environment(office.home, LDG_TRAININGS="1", LDG_SEEDS="1", LDG_EPOCHS="1", OMP_NUM_THREADS="1")
    materialize = ("asset", "materialize", "-m", "assets.definitions", "--select", "office/trained_models")
    logs = [office.home / "ui.log", office.home / "headless.log"]
    slot = office.lake.lock("slots", "training", "0")
    with hold(slot, "", "the test"):
        runs = [
            start_module(
                "dagster", *materialize, "--partition", "dyrep-concat", environment=around, output=logs[0]
            ),
            start_ldg("train", "office", "dyrep-bilinear", environment=around, output=logs[1]),
        ]
        for run in runs:
            wait_for(lambda run=run: asks_for(slot, run.pid), run)
        assert not list(office.lake.model("office", "*").parent.glob("*/*"))
    assert [run.wait(PATIENCE) for run in runs] == [0, 0], [log.read_text()[-4000:] for log in logs]
    models = [office.lake.model("office", key) for key in ("dyrep-concat", "dyrep-bilinear")]
    first, second = sorted(models, key=lambda folder: (folder / "model.json").stat().st_mtime_ns)
    begun = min(path.stat().st_mtime_ns for path in second.iterdir())
    assert begun > (first / "model.json").stat().st_mtime_ns, "both trained at the same time"


def asks_for(slot: Path, process: int) -> bool:
    """Whether a process, or one it started, has the file of a slot open: while another holds it, it waits."""
    with suppress(psutil.Error):  # one has ended meanwhile
        first = psutil.Process(process)
        for one in (first, *first.children(recursive=True)):
            if str(slot) in {file.path for file in one.open_files()}:
                return True
    return False


def test_as_many_processes_hold_a_slot_as_there_are_slots(tmp_path: Path) -> None:
    slots = [tmp_path / "0.lock", tmp_path / "1.lock"]
    message = r"all are taken by .*\(one\).* and .*\(another\)"
    with (
        hold_one_of(slots, "all are taken", "one"),
        hold_one_of(slots, "all are taken", "another"),
        pytest.raises(LockedError, match=message),
        hold_one_of(slots, "all are taken", "a third"),
    ):
        pass
    with hold_one_of(slots, "all are taken", "a fourth"):
        pass
