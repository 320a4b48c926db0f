"""Records of headless runs on a home: times, commit, machine, and the duration of each training.

Sessions accumulate in `results/run.json`; a restarted run keeps the earlier ones. The file contains no names
of users, hosts or paths.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from pipeline.lake import Lake, write_json
from pipeline.machine import Machine, commit


@dataclass(frozen=True)
class FinishedTraining:
    """A training that a session finished; `seconds` excludes time spent in earlier, killed sessions."""

    dataset: str
    variant: str
    seconds: float
    resumed: bool


@dataclass(frozen=True)
class Session:
    """One headless run, with up to `side_by_side` trainings at a time.

    `ended` is the time of its last update, also for a killed run. `finished` means that all work is done.
    """

    started: datetime
    ended: datetime
    finished: bool
    commit: str | None
    machine: Machine
    side_by_side: int
    trainings: tuple[FinishedTraining, ...] = ()


sessions_decoder = msgspec.json.Decoder(dict[str, list[Session]])


class SessionRecord:
    """The session of this process, written to disk after every step."""

    def __init__(self, lake: Lake, side_by_side: int) -> None:
        self.lake = lake
        now = recorded_now()
        self.session = Session(now, now, False, commit(), Machine.here(), side_by_side)
        write_session(self.session, lake)

    def note(self, *trainings: FinishedTraining, finished: bool = False) -> None:
        """Record a completed step, with `trainings` if any; the last step is `finished`."""
        every = (*self.session.trainings, *trainings)
        self.session = replace(self.session, ended=recorded_now(), finished=finished, trainings=every)
        write_session(self.session, self.lake)


def read_sessions(lake: Lake) -> list[Session]:
    """Return all sessions of this home, oldest first; an empty list if there were no headless runs."""
    if not lake.sessions.exists():
        return []
    return sessions_decoder.decode(lake.sessions.read_bytes())["sessions"]


def write_session(session: Session, lake: Lake) -> None:
    """Write `session` to the record; it replaces the one with the same start time."""
    earlier = [other for other in read_sessions(lake) if other.started != session.started]
    write_json({"sessions": msgspec.to_builtins([*earlier, session])}, lake.sessions)


def recorded_now() -> datetime:
    """Return the current time for a session's record: naive, in UTC."""
    return datetime.now(UTC).replace(tzinfo=None)
