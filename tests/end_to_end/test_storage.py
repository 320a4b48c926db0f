"""Two homes that share a storage: what one made, the other goes on from."""

import shutil
from pathlib import Path

import pytest

from pipeline.sources.sample import build
from tests.object_server import KEY, SECRET, ObjectServer
from tests.pipeline.storage.test_share import contents, objects
from tests.ports import free_port
from tests.whole_system import FEW_DAYS, PATIENCE, copy_world, environment, run_ldg, start_ldg

pytestmark = [pytest.mark.xdist_group("storage"), pytest.mark.slow]

SHARED = (
    "raw/gharchive",
    "events",
    "quarantine",
    "accounts",
    "subnetwork",
    "datasets",
    "models",
    "waiting_times",
    "figures",
    "report",
    "warehouse.duckdb",
)


def shared_files(home: Path) -> dict[str, bytes]:
    """What of a home belongs into the storage."""
    files = contents(home)
    results = {path for path in files if path.startswith("results/") and path.endswith(".parquet")}
    return {path: data for path, data in files.items() if path.startswith(SHARED) or path in results}


def test_a_second_machine_goes_on_where_the_first_was(
    object_server: ObjectServer, built_world: Path, few_days_home: Path, tmp_path: Path
) -> None:
    address = object_server.new_bucket()
    first, second = tmp_path / "first", tmp_path / "second"
    settings = {"LDG_STORAGE": address, **FEW_DAYS}
    # Much is there before a storage is named; a model and waiting times are still to be made.
    shutil.copytree(few_days_home, first)
    build(first)  # points the settings to their new place
    shutil.rmtree(first / "models" / "github" / "dyrep-concat")
    shutil.rmtree(first / "waiting_times")

    # The storage is away: the run says so, and what it made stays.
    away = {**object_server.variables, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    process = start_ldg(environment=environment(first, **settings, **away))
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "(LDG_STORAGE, AWS_ENDPOINT_URL) cannot be reached" in output

    output = run_ldg(environment=environment(first, **settings, **object_server.variables))
    assert objects(object_server.bucket(address)) == shared_files(first)
    assert KEY not in output
    assert SECRET not in output

    # Another machine: the same settings, the same source of raw files, an empty home.
    copy_world(built_world, second)
    secrets = object_server.variables
    with (second / ".env").open("a") as lines:
        lines.writelines(f"{name}={text}\n" for name, text in (settings | secrets).items())
    output = run_ldg(environment=environment(second))
    for variant in ("dyrep-bilinear", "dyrep-concat"):
        trained = f"models/github/{variant}/model.json"
        assert (second / trained).read_bytes() == (first / trained).read_bytes(), "trained again"
    assert not list((second / "raw").rglob("*.json.gz")), "hours were fetched or brought again"
    for folder in ("events", "quarantine", "subnetwork", "datasets", "models", "waiting_times"):
        of_folder = [
            {path: data for path, data in contents(home).items() if path.startswith(folder)}
            for home in (first, second)
        ]
        assert of_folder[0] == of_folder[1], folder
    output = run_ldg("doctor", environment=environment(second))
    assert f"storage: {address} at {object_server.endpoint} answers" in output
    assert SECRET not in output
