"""Alerts: one line of text to a file in the home, to standard error, and to a webhook or command if set.

A failed delivery raises nothing; it adds a line without secrets.
"""

import shlex
import subprocess
import sys
from datetime import UTC, datetime

import requests

from pipeline.settings import Settings
from pipeline.sources.urls import without_secrets

SECONDS = 10.0  # timeout of a webhook or a command
LONGEST = 600  # characters of a line


def alert(settings: Settings, text: str) -> list[str]:
    """Deliver `text` as one line to all targets; return the lines written, the alert first."""
    lines = [one_line(text)]
    for setting, deliver in (("LDG_ALERT_WEBHOOK", post), ("LDG_ALERT_COMMAND", hand_over)):
        try:
            deliver(settings, lines[0])
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            # The error's text may quote the address or the command, which may be secret.
            lines.append(f"the alert above did not reach {setting} ({delivery_failure(error)})")
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    stamped = [f"{now}  {line}" for line in lines]
    for line in stamped:
        print(line, file=sys.stderr)  # noqa: T201 - a service logs standard error
    settings.home.mkdir(parents=True, exist_ok=True)
    with settings.lake.alerts.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in stamped))
    return stamped


def one_line(text: str) -> str:
    """Return `text` on one line, without secrets in addresses, cut to `LONGEST` characters."""
    line = " ".join(without_secrets(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def post(settings: Settings, line: str) -> None:
    """Post the line to the webhook, if one is set, as `{"text": …}`, which chats accept as a message."""
    if settings.alert_webhook:
        answer = requests.post(settings.alert_webhook, json={"text": line}, timeout=SECONDS)
        answer.raise_for_status()


def hand_over(settings: Settings, line: str) -> None:
    """Run the command, if one is set, with the line as its standard input."""
    if command := shlex.split(settings.alert_command):
        subprocess.run(  # noqa: S603 - the user's own command, and no shell
            command, input=f"{line}\n", text=True, timeout=SECONDS, check=True, capture_output=True
        )


def delivery_failure(error: Exception) -> str:
    """Return a short reason for a failed delivery, without secrets."""
    match error:
        case requests.HTTPError() if error.response is not None:
            return f"status {error.response.status_code}"
        case subprocess.CalledProcessError():
            return f"code {error.returncode}"
    return type(error).__name__
