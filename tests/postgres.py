"""A real PostgreSQL for a test: Debian's programs on a cluster of their own, in a temporary folder."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import free_port

USER = "ldg"


@dataclass(frozen=True)
class Cluster:
    """A server at work on this machine, with the password of its only user."""

    programs: Path
    port: int
    password: str

    def address(self, database: str) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        self.call("createdb", database)
        return self.address(database)

    def call(self, program: str, *arguments: str) -> None:
        reached = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": USER,
            "PGPASSWORD": self.password,
        }
        command = [str(self.programs / program), *arguments]
        subprocess.run(command, env={**os.environ, **reached}, check=True, capture_output=True, timeout=120)


def find_programs() -> Path | None:
    """The folder with `initdb`: Debian keeps it off the path."""
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def running_cluster() -> Generator[Cluster]:
    """A cluster that ends with the test; PostgreSQL refuses to be root."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL at hand: install postgresql to run these tests")
    port = free_port()
    cluster = Cluster(programs, port, secrets.token_urlsafe(12))
    is_root = os.getuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="ldg-postgres-"))
    data = folder / "data"

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(programs / program), "-D", str(data), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            timeout=120,
            user="nobody" if is_root else None,
            group="nogroup" if is_root else None,
            extra_groups=[] if is_root else None,
        )

    try:
        password = folder / "password"
        password.write_text(cluster.password)
        if is_root:
            for path in (folder, password):
                shutil.chown(path, "nobody", "nogroup")
        call(
            "initdb", "-U", USER, "-A", "scram-sha-256", "--pwfile", str(password), "-E", "UTF8", "--no-sync"
        )
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        call("pg_ctl", "-l", str(folder / "log"), "-w", "-o", options, "start")
        try:
            yield cluster
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
