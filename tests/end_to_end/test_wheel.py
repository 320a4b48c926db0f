"""The wheel, installed without a checkout: it runs from any folder and writes to the home alone."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import psutil
import pytest
import requests

from tests.ports import free_port
from tests.whole_system import FEW_DAYS, OF_A_SERVER, PATIENCE, ROOT, wait_for

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "assets", "model", "pipeline")


@pytest.fixture(scope="module")
def wheel_ldg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in an environment that has of this one only the dependencies; return its `ldg`."""
    folder = tmp_path_factory.mktemp("wheel")
    sources, installed = folder / "sources", folder / "venv"
    sources.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, sources / name)
    venv.create(installed)
    program = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(sources))
    subprocess.run([*program, *build], check=True, timeout=PATIENCE)
    (wheel,) = folder.glob("*.whl")
    install = (
        "--python",
        str(installed / "bin" / "python"),
        "install",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    subprocess.run([*program, *install], check=True, timeout=PATIENCE)
    (packages,) = installed.glob("lib/python*/site-packages")
    # The line of a .pth adds a folder without reading the .pth files in it: this checkout is not imported.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return installed / "bin" / "ldg"


def files_below(folder: Path) -> set[Path]:
    """Return all files but compiled code."""
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def test_an_installed_wheel_runs_the_sample_world_and_the_ui_from_any_folder(
    wheel_ldg: Path, tmp_path: Path
) -> None:
    home, user, folder = tmp_path / "home", tmp_path / "user", tmp_path / "folder"
    user.mkdir()
    for shadowing in ("assets", "model", "pipeline"):
        (folder / shadowing).mkdir(parents=True)
        (folder / shadowing / "__init__.py").write_text("raise ImportError('the folder of the user')")
    before = files_below(tmp_path) | files_below(wheel_ldg.parents[1])
    own = ("LDG_", "DAGSTER_", "PYTHON")
    around = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    around |= {"HOME": str(user), "LDG_HOME": str(home)}
    for command, settings in (("sample", {}), ("run", FEW_DAYS)):
        done = subprocess.run(
            [wheel_ldg, command],
            cwd=folder,
            env=around | settings,
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert json.loads((home / "models/github/dyrep-concat/model.json").read_text())

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = home / "dev.log"
    with log.open("w") as output:
        dev = subprocess.Popen(
            [wheel_ldg, "dev", "--port", str(port)], cwd=folder, env=around, stdout=output, stderr=output
        )
    try:
        wait_for(lambda: f"The UI is at {url}" in log.read_text(), dev)
        query = {"query": "{ runsOrError { ... on Runs { count } } assetNodes { id } }"}
        answer: dict = {}

        def has_assets() -> bool:
            answer.update(requests.post(f"{url}/graphql", json=query, timeout=PATIENCE).json()["data"])
            return bool(answer["assetNodes"])

        wait_for(has_assets, dev, pause=OF_A_SERVER)
        assert answer["runsOrError"]["count"] > 0, "the run history of `ldg run`"
        services = psutil.Process(dev.pid).children(recursive=True)
    finally:
        dev.terminate()
        dev.wait(PATIENCE)
    psutil.wait_procs(services, PATIENCE)
    assert not [service for service in services if service.is_running()], log.read_text()[-4000:]

    written = (files_below(tmp_path) | files_below(wheel_ldg.parents[1])) - before
    assert {path for path in written if not path.is_relative_to(home)} == set()
    assert not list(home.rglob(".telemetry"))
