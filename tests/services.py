"""The services of the UI as a machine runs them by itself, and what a click in the UI asks of them."""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.ports import free_port
from tests.whole_system import PATIENCE, ROOT

BACKFILL = """mutation($parameters: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $parameters) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message }
  }
}"""
STATUS = """query($id: String!) {
  partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } }
}"""
SETTLED = {"COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED", "FAILED", "CANCELED"}  # of a backfill
LAST = 5_000  # bytes of what a service said, for whoever reads of a test that failed


@dataclass
class Services:
    """Code server, pages and daemon of a home, each in a group of processes of its own, as systemd does.

    What each says goes to a file in `logs`.
    """

    environment: dict[str, str]
    logs: Path
    code_port: int = field(default_factory=free_port)
    web_port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)

    def start(self, name: str) -> None:
        code = ("--code-port", str(self.code_port))
        options = {
            "code": ("--port", str(self.code_port)),
            "web": ("--port", str(self.web_port), *code),
            "daemon": code,
        }[name]
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "assets", "serve", name, *options],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE)

    def start_all(self) -> None:
        for name in ("code", "web", "daemon"):
            self.start(name)

    def kill_all(self) -> None:
        """Kill every service; pytest shows their last words where a test failed."""
        for name in list(self.processes):
            self.kill(name)
            last_words = self.log(name).read_bytes()[-LAST:].decode(errors="replace")
            sys.stdout.write(f"--- {name}\n{last_words}\n")

    def stop(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE)

    def ask(self, query: str, **variables: Any) -> dict[str, Any] | None:
        """What the pages' API answers, or None while it does not."""
        try:
            answer = requests.post(
                f"http://127.0.0.1:{self.web_port}/graphql",
                json={"query": query, "variables": variables},
                timeout=30,
            )
            return answer.json().get("data") if answer.ok else None
        except requests.RequestException:
            return None

    def has_code(self) -> bool:
        """Whether the code server answers."""
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", self.code_port)) == 0

    def has_assets(self) -> bool:
        """Whether the pages know the assets: the code server answers them."""
        answer = self.ask("{ assetNodes { assetKey { path } } }")
        return bool(answer and answer["assetNodes"])

    def backfill(self, days: list[str]) -> str:
        """Ask for days of the archive as a click would."""
        parameters = {
            "assetSelection": [{"path": ["gharchive_files"]}, {"path": ["github_events"]}],
            "partitionNames": days,
        }
        answer = self.ask(BACKFILL, parameters=parameters)
        assert answer is not None
        assert answer["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess", answer
        return answer["launchPartitionBackfill"]["backfillId"]

    def status(self, backfill: str) -> str | None:
        """How a backfill stands."""
        answer = self.ask(STATUS, id=backfill)
        return answer["partitionBackfillOrError"]["status"] if answer else None

    def outcome(self, backfill: str) -> str | None:
        """How a backfill ended, or None while it goes on."""
        status = self.status(backfill)
        return status if status in SETTLED else None
