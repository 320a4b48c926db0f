"""Alerts: one readable line that goes to a file of the home, to standard error, and where the settings say.

An alert never fails: where it could not be delivered is a line of its own, without any secret.
"""

import shlex
import subprocess
import sys
from datetime import UTC, datetime

import requests

from pipeline.settings import Settings
from pipeline.sources.urls import without_secrets

SECONDS = 10.0  # for a webhook or a command to take an alert
LONGEST = 600  # characters of a line


def alert(settings: Settings, text: str) -> list[str]:
    """Deliver `text` as one line everywhere; return the lines written, the alert's first."""
    lines = [one_line(text)]
    for setting, deliver in (("LDG_ALERT_WEBHOOK", post), ("LDG_ALERT_COMMAND", hand_over)):
        try:
            deliver(settings, lines[0])
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            # The error's own words quote the address or the command: its kind must do.
            lines.append(f"the alert above did not reach {setting} ({delivery_failure(error)})")
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    stamped = [f"{now}  {line}" for line in lines]
    for line in stamped:
        print(line, file=sys.stderr)  # noqa: T201 - where a service's own log is kept
    settings.home.mkdir(parents=True, exist_ok=True)
    with settings.lake.alerts.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in stamped))
    return stamped


def one_line(text: str) -> str:
    """`text` without line breaks and without secrets of addresses, cut where it is very long."""
    line = " ".join(without_secrets(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def post(settings: Settings, line: str) -> None:
    """Send the line to the webhook as `{"text": …}`, which chats take as a message."""
    if settings.alert_webhook:
        answer = requests.post(settings.alert_webhook, json={"text": line}, timeout=SECONDS)
        answer.raise_for_status()


def hand_over(settings: Settings, line: str) -> None:
    """Give the line to the command as its input."""
    if command := shlex.split(settings.alert_command):
        subprocess.run(  # noqa: S603 - the user's own command, and no shell
            command, input=f"{line}\n", text=True, timeout=SECONDS, check=True, capture_output=True
        )


def delivery_failure(error: Exception) -> str:
    """Why an alert could not be delivered, in a word or two."""
    match error:
        case requests.HTTPError() if error.response is not None:
            return f"status {error.response.status_code}"
        case subprocess.CalledProcessError():
            return f"code {error.returncode}"
    return type(error).__name__
