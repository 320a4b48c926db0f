"""A real cluster on 127.0.0.1: a scheduler and workers in processes of their own, as `ldg` starts them."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.ports import free_port
from tests.whole_system import PATIENCE, environment, start_module, wait_for


class Machines:
    """A cluster's processes, to be started and killed one by one."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home, self.port = home, free_port()
        self.environment = environment(home, **settings)
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen | None = None
        self.workers: list[subprocess.Popen] = []

    def start_scheduler(self) -> None:
        output = self.home / "scheduler.log"
        self.scheduler = start_module(
            "assets", "scheduler", "--port", str(self.port), environment=self.environment, output=output
        )

    def start_worker(self) -> None:
        output = self.home / f"worker{len(self.workers)}.log"
        arguments = ("--processes", "1", "--name", f"worker{len(self.workers)}")
        self.workers.append(
            start_module(
                "assets",
                "worker",
                self.address,
                *arguments,
                environment=self.environment,
                output=output,
            )
        )

    def at_work(self) -> list[psutil.Process]:
        """The processes that do the tasks: children of those that watch over them."""
        children = []
        for worker in self.workers:
            if worker.poll() is None:
                children += [
                    child
                    for child in psutil.Process(worker.pid).children(recursive=True)
                    if "resource_tracker" not in " ".join(child.cmdline())
                ]
        return children

    def stop(self) -> None:
        """End everything, at once."""
        family = [process for process in (self.scheduler, *self.workers) if process is not None]
        children = self.at_work()
        for process in family:
            process.kill()
            process.wait(PATIENCE)
        for child in children:
            if child.is_running():
                child.kill()


@contextmanager
def cluster_on(home: Path, workers: int = 2, **settings: str) -> Generator[Machines]:
    """A cluster of so many workers on a home, ready to work; each is started as on a machine of its own."""
    from distributed import Client

    home.mkdir(parents=True, exist_ok=True)
    machines = Machines(home, **settings)
    try:
        machines.start_scheduler()
        for _ in range(workers):
            machines.start_worker()
        with Client(machines.address, timeout=PATIENCE, set_as_default=False) as client:
            wait_for(lambda: len(client.nthreads()) == workers)
        yield machines
    finally:
        machines.stop()
