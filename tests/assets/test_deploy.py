"""The files for machines that run the system by themselves are what systemd and compose take."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from assets.cli import ldg

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SERVICES = ("code", "daemon", "web")


def parsed(arguments: list[str]) -> None:
    """Have `ldg` read a command line without running it: unknown commands and options are errors."""
    answer = CliRunner().invoke(ldg, [*arguments, "--help"])
    assert answer.exit_code == 0, answer.output


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_there_is(unit: Path) -> None:
    (line,) = (
        line.removeprefix("ExecStart=")
        for line in unit.read_text(encoding="utf-8").splitlines()
        if line.startswith("ExecStart=")
    )
    program, *arguments = shlex.split(line)
    assert program.endswith("/.venv/bin/ldg")
    parsed(arguments)


def test_systemd_has_nothing_to_say_against_the_units(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd at hand: systemd-analyze verifies the units")
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace("/srv/ldg/.venv/bin/ldg", "/bin/true")
        (tmp_path / unit.name).write_text(text.replace("WorkingDirectory=/srv/ldg", "WorkingDirectory=/"))
    done = subprocess.run(
        [program, "verify", "--man=no", *map(str, tmp_path.glob("*.service"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if "ldg-" in line]
    assert ours == [], done.stderr


def test_compose_has_a_scheduler_and_workers_on_a_shared_home() -> None:
    compose = yaml.safe_load((DEPLOY / "cluster.yaml").read_text(encoding="utf-8"))
    assert set(compose["services"]) == {"scheduler", "worker"}
    for service in compose["services"].values():
        (volume,) = service["volumes"]
        assert volume.endswith(":/var/lib/ldg")
        parsed(service["command"])


def test_compose_has_a_database_and_every_service_on_one_home() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert set(compose["services"]) == {"database", *SERVICES}
    for name in SERVICES:
        service = compose["services"][name]
        assert service["volumes"] == ["home:/var/lib/ldg"]
        assert service["environment"]["LDG_STORE"].startswith("postgresql://")
        parsed(service["command"])
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["web"]["ports"])
