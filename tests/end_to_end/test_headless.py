"""`python -m assets` on a small dataset of one's own: what it says and leaves when all is not well."""

import shutil
import signal
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterRunStatus, RunsFilter
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from assets.headless.instance import instance_of
from assets.headless.steps import Step, materialize
from assets.system import build_definitions
from pipeline.lake import Lake
from pipeline.runs import read_sessions
from pipeline.settings import Settings
from tests.office import write_office
from tests.whole_system import PATIENCE, environment, run_ldg, start_ldg, trainings_at_work, wait_for


@pytest.fixture
def office_of_five(tmp_path: Path) -> Path:
    """A home with the mails of five people."""
    write_office(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def before_trainings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all that a run makes before it trains; nobody changes it."""
    home = tmp_path_factory.mktemp("before_trainings")
    write_office(home)
    settings = Settings(home=home)
    job = build_definitions(settings).resolve_implicit_global_asset_job_def()
    with pytest.MonkeyPatch.context() as patch:
        for name, text in environment(home).items():
            patch.setenv(name, text)
        with instance_of(settings) as instance:
            for asset in ("event_table", "no_learn_baselines", "waiting_times"):
                materialize(Step((AssetKey(["office", asset]),)), job, instance)
    return home


@pytest.fixture
def ready_to_train(before_trainings: Path, tmp_path: Path) -> Path:
    """A home in which only trainings are to be done."""
    shutil.copytree(before_trainings, tmp_path, dirs_exist_ok=True)
    return tmp_path


def office(home: Path, **more: str) -> dict[str, str]:
    small = {"LDG_DATASETS": "office", "LDG_SEEDS": "1", "LDG_EPOCHS": "1", "LDG_VARIANTS": "dyrep"}
    return environment(home, **{**small, "LDG_TRAININGS": "2", **more})


def test_a_training_that_fails_stops_no_other_but_the_results(office_of_five: Path) -> None:
    models = office_of_five / "models" / "office"
    models.mkdir(parents=True)
    (models / "ldg_learned_sparse-concat").write_text("in the way")
    learned = office(office_of_five, LDG_VARIANTS="ldg_learned_sparse,ldg_learned_sparse_freq")
    process = start_ldg(environment=learned)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    assert "office/trained_models ldg_learned_sparse-concat failed: " in output
    assert "office/trained_models ldg_learned_sparse_freq-concat failed: it uses the weights of one" in output
    assert "make dev" in output
    assert {path.parent.name for path in models.glob("*/model.json")} == {
        "ldg_learned_sparse-bilinear",
        "ldg_learned_sparse_freq-bilinear",
    }
    assert not (office_of_five / "warehouse.duckdb").exists()
    assert [session.finished for session in read_sessions(Lake(office_of_five))] == [False]

    (models / "ldg_learned_sparse-concat").unlink()
    output = run_ldg(environment=learned)
    assert "2 of 4 trainings were finished" in output
    first, second = read_sessions(Lake(office_of_five))
    assert second.finished
    assert {training.variant for training in second.trainings} == {
        "ldg_learned_sparse-concat",
        "ldg_learned_sparse_freq-concat",
    }
    assert len(first.trainings) == 2
    assert "unchanged  dataset_stats," not in output
    plan = run_ldg("run", "--dry-run", environment=learned)
    assert "finished  office/trained_models ldg_learned_sparse-concat" in plan
    assert "unchanged  dataset_stats," in plan
    report = office_of_five / "report" / "index.html"
    before = report.read_bytes()
    assert "unchanged  dataset_stats," in run_ldg(environment=learned)
    assert report.read_bytes() == before
    report.write_text("damaged")
    assert "unchanged  dataset_stats," not in run_ldg(environment=learned)
    assert report.stat().st_size > 10_000
    record = (office_of_five / "results" / "run.json").read_text()
    assert str(office_of_five) not in record
    assert str(Path.home()) not in record


@pytest.mark.parametrize(
    "interrupts", [signal.SIG_DFL, signal.SIG_IGN], ids=["in the foreground", "in the background of a script"]
)
def test_an_interrupt_ends_the_trainings_and_keeps_their_checkpoints(
    ready_to_train: Path, interrupts: signal.Handlers
) -> None:
    endless = office(ready_to_train, LDG_EPOCHS="1000000")
    process = start_ldg(environment=endless, interrupts=interrupts)
    wait_for(lambda: len(list(ready_to_train.glob("models/*/*/checkpoint.safetensors"))) == 2, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "the same command goes on from here" in output
    assert "Traceback" not in output
    assert not trainings_at_work(ready_to_train)
    assert len(list(ready_to_train.glob("models/*/*/checkpoint.safetensors"))) == 2
    with instance_of(Settings(home=ready_to_train)) as instance:
        assert not instance.get_runs(RunsFilter(statuses=NOT_FINISHED_STATUSES))
        assert len(instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.FAILURE]))) == 2


def test_a_killed_run_takes_its_trainings_with_it_and_the_next_waits_for_them(ready_to_train: Path) -> None:
    endless = office(ready_to_train, LDG_EPOCHS="1000000")
    process = start_ldg(environment=endless)
    wait_for(lambda: len(list(ready_to_train.glob("models/*/*/checkpoint.safetensors"))) == 2, process)
    orphans = trainings_at_work(ready_to_train)
    assert len(orphans) == 2
    orphans[0].suspend()  # it does not notice yet, and still has the lock
    try:
        process.kill()
        process.wait()  # until then its number is taken
        wait_for(lambda: trainings_at_work(ready_to_train) == orphans[:1])
        following = start_ldg(environment=office(ready_to_train))
        assert following.stdout is not None
        line = following.stdout.readline()
        assert (
            f"{ready_to_train} is being worked on by process {process.pid} (python -m assets) since" in line
        )
        assert "which is gone while those it started end: waiting up to" in line
    finally:
        orphans[0].resume()
    assert "office/event_table" in following.stdout.readline()
    following.kill()
    following.communicate(timeout=PATIENCE)
    wait_for(lambda: not trainings_at_work(ready_to_train))
