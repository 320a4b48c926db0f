"""What a cluster makes is what one process makes, byte for byte, whoever is killed on the way."""

import os
import shutil
import signal
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pipeline.cluster.run import run_task, run_tasks
from pipeline.cluster.software import Software
from pipeline.cluster.task import ClusterError, Task
from pipeline.following.bring import bring_window, read_changed
from pipeline.lake import Lake
from pipeline.progress import watched_by
from pipeline.sources.gharchive.days import bring_alone
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork import find_subnetwork
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule
from pipeline.storage.share import publish_things
from pipeline.storage.things import event_table
from tests.cluster_machines import Machines, cluster_on
from tests.cluster_tasks import (
    DAYS,
    KEY,
    LATER,
    days_made,
    die,
    disturbed,
    fail,
    model_made,
    store_dataset,
    training,
    was_disturbed,
    work,
    write_archive,
)
from tests.object_server import ObjectServer
from tests.ports import free_port
from tests.whole_system import PATIENCE, environment, start_module

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machines]:
    """Two workers on a home that has a dataset; a task that kills two of them is not tried a third time."""
    home = tmp_path_factory.mktemp("cluster") / "home"
    store_dataset(Lake(home))
    with cluster_on(home, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1") as machines:
        yield machines


@pytest.fixture(scope="module")
def few_days(tmp_path_factory: pytest.TempPathFactory) -> FetchSettings:
    """Hour files of a few days."""
    folder = tmp_path_factory.mktemp("archive")
    write_archive(folder)
    return FetchSettings(base=str(folder))


@pytest.fixture(scope="module")
def made_alone(tmp_path_factory: pytest.TempPathFactory, few_days: FetchSettings) -> Lake:
    """What one process makes of the same."""
    lake = Lake(tmp_path_factory.mktemp("alone"))
    bring_window(lake, DAYS, few_days, EventRules(), now=LATER)
    store_dataset(lake)
    run_task(training(KEY), lake, "")
    return lake


def test_a_task_that_kills_its_workers_is_given_up_with_a_reason(workers: Machines) -> None:
    """The first one: a worker that is started again has yet to import what it did its tasks with."""
    with pytest.raises(ClusterError, match=r"deadly: 2 workers in a row .*perhaps memory ran out"):
        run_task(Task("deadly", die), Lake(workers.home), workers.address)


def test_days_are_those_of_one_process_though_a_worker_is_killed_in_one(
    workers: Machines, few_days: FetchSettings, made_alone: Lake
) -> None:
    lake, lines = Lake(workers.home), []
    reading = {"rules": EventRules(), "keep_raw": False, "fetching": few_days, "now": LATER}
    use = partial(read_changed, work="a test", **reading)
    tasks = [Task(str(day), bring_alone, (day, few_days, use, LATER, (0, ""), "a test")) for day in DAYS]
    tasks[1] = disturbed(tasks[1], steps=24 + 5)  # all hours fetched, five of them read
    days = [day for _, (day, _, _) in run_tasks(tasks, lake, workers.address, lines.append)]
    assert sorted(days) == list(DAYS)
    assert was_disturbed(lake, tasks[1])
    assert days_made(lake) == days_made(made_alone)
    assert any("2026-06-02 read: 24/24 hours" in line for line in lines)


def test_following_brings_the_same_days_and_finds_nothing_changed_afterwards(
    workers: Machines, few_days: FetchSettings, made_alone: Lake
) -> None:
    lake = Lake(workers.home)
    for folder in (lake.github_events, lake.github_quarantine, lake.github_accounts, lake.gharchive_raw):
        shutil.rmtree(folder, ignore_errors=True)
    on_cluster = partial(bring_window, lake, DAYS, few_days, EventRules(), now=LATER, cluster=workers.address)
    assert on_cluster() == list(DAYS)
    assert days_made(lake) == days_made(made_alone)
    assert on_cluster() == []


def test_the_subnetwork_counted_by_workers_is_the_same(
    workers: Machines, few_days: FetchSettings, made_alone: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(workers.home)
    bring_window(lake, DAYS, few_days, EventRules(), now=LATER, cluster=workers.address)
    monkeypatch.setattr("pipeline.sources.gharchive.counts.STRETCH_BYTES", 1)  # a task per day
    rule = SubnetworkRule(min_communications=1, min_associations=0, start=DAYS.first, end=DAYS.last)
    there = find_subnetwork(lake.github_events, rule, cluster=workers.address)
    here = find_subnetwork(made_alone.github_events, rule)
    assert there.accounts.height
    assert there.accounts.equals(here.accounts)
    assert replace(there, accounts=here.accounts) == here
    assert not list(lake.home.glob(".counts*"))


def test_a_client_that_is_killed_leaves_what_the_next_one_goes_on_from(
    workers: Machines, made_alone: Lake
) -> None:
    lake = Lake(workers.home)
    shutil.rmtree(lake.model("toy", KEY), ignore_errors=True)
    arguments = (str(lake.home), workers.address, KEY)
    process = start_module("tests.cluster_tasks", *arguments, environment=environment(lake.home))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    lines: list[str] = []
    run_task(training(KEY), lake, workers.address, lines.append)
    assert any("goes on from epoch" in line for line in lines)
    assert model_made(lake) == model_made(made_alone)


def test_progress_and_lines_come_from_the_workers(workers: Machines) -> None:
    lines: list[str] = []
    tasks = [Task(f"count to {steps}", work, (steps,)) for steps in (3, 4, 5)]
    processes = dict(run_tasks(tasks, Lake(workers.home), workers.address, lines.append))
    assert set(processes) == set(tasks)
    assert os.getpid() not in processes.values()
    assert sorted(line.partition(" (")[0] for line in lines) == [
        f"count: {steps}/{steps} steps" for steps in (3, 4, 5)
    ]


def test_an_error_of_a_task_is_the_clients_error(workers: Machines) -> None:
    with pytest.raises(ValueError, match="nothing can be made of home"):
        run_task(Task("in vain", fail), Lake(workers.home), workers.address)


def test_another_home_is_refused(workers: Machines, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=f"LDG_HOME={workers.home}, which is another folder"):
        run_task(Task("count", work, (1,)), Lake(tmp_path), workers.address)


def test_a_worker_with_a_home_of_its_own_trains_by_a_storage_that_both_share(
    workers: Machines, made_alone: Lake, object_server: ObjectServer, tmp_path: Path
) -> None:
    lake, theirs = Lake(tmp_path, object_server.new_bucket()), Lake(workers.home)
    for home in (lake.home, theirs.home):
        lines = [f"{name}={text}" for name, text in object_server.variables.items()]
        (home / ".env").write_text("\n".join(lines))
    store_dataset(lake)
    publish_things(lake, event_table("toy"))
    for folder in (theirs.dataset("toy"), theirs.model("toy", KEY)):
        shutil.rmtree(folder, ignore_errors=True)
    run_task(training(KEY), lake, workers.address)
    assert model_made(lake) == model_made(made_alone)
    assert model_made(theirs) == model_made(lake)
    with pytest.raises(ClusterError, match="count needs a home that all machines see"):
        run_task(Task("count", work, (1,)), lake, workers.address)


def test_other_software_is_refused(workers: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Software.here()
    other = replace(here, code="0123456789ab", packages={**here.packages, "torch": "1.0"})
    monkeypatch.setattr(Software, "here", lambda: other)
    message = r"the project's code is 0123456789ab here and .* there; torch is 1.0 here and .* there"
    with pytest.raises(ClusterError, match=message):
        run_task(Task("count", work, (1,)), Lake(workers.home), workers.address)


def test_a_scheduler_that_is_not_there_is_said_with_what_to_do(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cluster.client.SECONDS_TO_CONNECT", 0.5)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(ClusterError, match=f"no scheduler answers at {address}.*`ldg scheduler`"):
        run_task(Task("count", work, (1,)), lake, address)


def test_a_training_is_the_same_to_the_byte_though_its_worker_is_killed_in_the_middle(
    workers: Machines, made_alone: Lake
) -> None:
    """By now the other one has imported what it needs to go on."""
    lake, lines, seen = Lake(workers.home), [], []
    shutil.rmtree(lake.model("toy", KEY), ignore_errors=True)
    with watched_by(seen.append):
        task = disturbed(training(KEY), steps=7)
        facts = run_task(task, lake, workers.address, lines.append)
    assert facts["seeds"] == [0, 1]
    assert was_disturbed(lake, task)
    assert any("goes on from epoch" in line for line in lines)
    assert model_made(lake) == model_made(made_alone)
    assert any(state.label == f"train {KEY}" for state in seen)


def test_a_scheduler_that_is_killed_is_said_and_nothing_is_lost(workers: Machines, made_alone: Lake) -> None:
    """The last one: it takes the cluster along."""
    lake = Lake(workers.home)
    shutil.rmtree(lake.model("toy", KEY), ignore_errors=True)
    assert workers.scheduler is not None
    task = disturbed(training(KEY), steps=7, victim=workers.scheduler.pid)
    with pytest.raises(ClusterError, match=rf"the scheduler at {workers.address} .* is gone"):
        run_task(task, lake, workers.address)
    assert was_disturbed(lake, task)
    run_task(training(KEY), lake, "")
    assert model_made(lake) == model_made(made_alone)
