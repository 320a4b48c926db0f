"""Runs on the same home, in processes of their own, keep out of each other's way."""

import multiprocessing
from datetime import date, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import polars as pl
import pytest
from dagster import AssetKey, DagsterInstance, Definitions

from assets.definitions import build_definitions
from assets.headless.instance import HEADLESS
from assets.lanes.dataset import dataset_chain
from pipeline.lake import Lake
from pipeline.locks import LockedError, hold
from pipeline.settings import Settings
from pipeline.sources.gharchive.day import account_path
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.registry import registry
from tests.pipeline.sources.gharchive.making import lines, modern, store
from tests.whole_system import PATIENCE

FIRST = date(2015, 1, 2)
DAYS = [FIRST + timedelta(days=number) for number in range(5)]
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
    settings = Settings(home=tmp_path / "home", gharchive_url=str(tmp_path / "source"), keep_raw=False)
    # Not forked: `assets.definitions` reads the settings when imported, which starts threads of polars.
    processes = multiprocessing.get_context("spawn")
    together = processes.Barrier(RUNS)
    runs = [processes.Process(target=bring_days, args=(settings, together)) for _ in range(RUNS)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(PATIENCE)
    codes = [run.exitcode for run in runs]
    for run in runs:
        run.kill()
    assert codes == [0] * RUNS
    for day in DAYS:
        assert pl.read_parquet(account_path(settings.lake, day))["kept"].sum() == 24
    assert not list(settings.lake.gharchive_raw.rglob("*.json.gz"))


@pytest.fixture
def office(tmp_path: Path) -> Settings:
    """A home with a dataset of two people's mails."""
    folder = Lake(tmp_path).own / "office"
    folder.mkdir(parents=True)
    mails = [f"ann,bob,2024-01-{1 + n}" for n in range(20)] + ["bob,cat,2024-01-21", "cat,ann,2024-01-22"]
    (folder / "mails.csv").write_text("from,to,sent\n" + "\n".join(mails) + "\n")
    (folder / "dataset.toml").write_text(
        'title = "The office"\n[events]\nfile = "mails.csv"\nsource = "from"\ntarget = "to"\ntime = "sent"\n'
        'time_zone = "UTC"\n[split]\ntest_start = 2024-01-18\ntime_zone = "UTC"\n'
    )
    return Settings(home=tmp_path, seeds=1, epochs=1)


@pytest.mark.parametrize("tags", [{}, HEADLESS], ids=["in the UI", "headless"])
def test_a_variant_that_another_run_trains_is_refused_at_once(office: Settings, tags: dict[str, str]) -> None:
    (spec,) = (spec for spec in registry(office) if spec.name == "office")
    chain = Definitions(assets=dataset_chain(spec), resources={"settings": office})
    job = chain.resolve_implicit_global_asset_job_def()

    def make(asset: str, partition: str | None = None) -> bool:
        keys = [AssetKey(["office", asset])]
        instance = DagsterInstance.ephemeral()
        return job.execute_in_process(
            asset_selection=keys, partition_key=partition, instance=instance, tags=tags
        ).success

    assert make("event_table")
    message = r"dyrep-concat is being trained on office by .*\(Dagster run 1a2b3c4d\)"
    lock = office.lake.lock("models", "office", "dyrep-concat")
    with hold(lock, "", "Dagster run 1a2b3c4d"), pytest.raises(LockedError, match=message):
        make("trained_models", "dyrep-concat")
    assert not office.lake.model("office", "dyrep-concat").exists()
    assert make("trained_models", "dyrep-concat")
