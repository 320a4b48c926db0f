"""A run that fails leaves one readable line, wherever the settings say, and no secret with it."""

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from dagster import DagsterInstance, Definitions, build_run_status_sensor_context, op
from dagster import job as dagster_job

from assets.alerts import alerts, failure_in_words
from pipeline.alerts import LONGEST, alert
from pipeline.settings import Settings


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    received: list[tuple[str, str]] = []  # noqa: RUF012 - one server per test

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append((self.path, body["text"]))
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's signature
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a server that takes alerts."""
    Receiver.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_alert_is_one_line_in_the_file_on_stderr_at_the_webhook_and_in_the_commands_input(
    tmp_path: Path, receiver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mail = tmp_path / "mail.txt"
    command = (
        f"{sys.executable} -c 'import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())' "
    )
    settings = Settings(
        home=tmp_path / "home", alert_webhook=f"{receiver}/T0/token", alert_command=f"{command} {mail}"
    )
    alert(settings, "archive_day failed:\n  no route to http://user:word@example.org/a?key=1")
    expected = "archive_day failed: no route to http://example.org/a"
    assert Receiver.received == [("/T0/token", expected)]
    assert mail.read_text() == f"{expected}\n"
    (line,) = settings.lake.alerts.read_text().splitlines()
    assert line.endswith(f" UTC  {expected}")
    assert capsys.readouterr().err == f"{line}\n"


def test_what_cannot_be_delivered_is_a_line_without_the_secret(tmp_path: Path, receiver: str) -> None:
    secret = "t0ken"
    for webhook, why in (
        (f"{receiver}/broken", "status 500"),
        (f"http://127.0.0.1:9/{secret}", "ConnectionError"),
        (secret, "MissingSchema"),
    ):
        settings = Settings(home=tmp_path, alert_webhook=webhook, alert_command=f"no-such-command {secret}")
        first, *rest = alert(settings, "it failed")
        assert first.endswith("  it failed")
        assert rest[0].endswith(f"did not reach LDG_ALERT_WEBHOOK ({why})")
        assert rest[1].endswith("did not reach LDG_ALERT_COMMAND (FileNotFoundError)")
    assert secret not in settings.lake.alerts.read_text()


def test_a_very_long_reason_is_cut(tmp_path: Path) -> None:
    (line,) = alert(Settings(home=tmp_path), "x" * 10_000)
    assert len(line) <= LONGEST + 30
    assert line.endswith("…")


def test_the_sensor_names_the_run_the_step_and_the_reason(tmp_path: Path, receiver: str) -> None:
    @op
    def fetch() -> None:
        raise ConnectionError("http://user:word@example.org cannot be reached")

    @dagster_job
    def archive() -> None:
        fetch()

    sensor = alerts(Settings(home=tmp_path, alert_webhook=f"{receiver}/hook"))
    with DagsterInstance.ephemeral() as instance:
        done = archive.execute_in_process(
            instance=instance, raise_on_error=False, tags={"dagster/partition": "2015-01-02"}
        )
        (failure,) = [event for event in done.all_events if event.is_run_failure]
        context = build_run_status_sensor_context(
            sensor_name="alerts",
            dagster_event=failure,
            dagster_instance=instance,
            dagster_run=done.dagster_run,
        ).for_run_failure()
        words = failure_in_words(context)
        sensor(context)
    assert words.startswith(
        f"archive 2015-01-02 failed (run {done.run_id[:8]}): fetch: ConnectionError: http://"
    )
    ((path, sent),) = Receiver.received
    assert path == "/hook"
    assert sent.endswith("fetch: ConnectionError: http://example.org cannot be reached")


def test_the_sensor_is_on_from_the_start(tmp_path: Path) -> None:
    sensor = alerts(Settings(home=tmp_path))
    assert sensor.default_status.value == "RUNNING"
    Definitions.validate_loadable(Definitions(sensors=[sensor]))
