"""What headless runs did on a home: when, at which commit, on what machine, and how long each training took.

Sessions add up in `results/run.json`: a run that is killed and started again keeps the earlier ones. Nothing
in it names a user, a host or a path.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from pipeline.lake import Lake, write_json
from pipeline.machine import Machine, commit


@dataclass(frozen=True)
class FinishedTraining:
    """A training that a session brought to its end; `seconds` are this session's, not those before a kill."""

    dataset: str
    variant: str
    seconds: float
    resumed: bool


@dataclass(frozen=True)
class Session:
    """One headless run, with up to `side_by_side` trainings at a time.

    `ended` is when it was last heard of: a killed one does not say goodbye. `finished`: everything was made.
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
    """The session of this process, on disk after every step of it."""

    def __init__(self, lake: Lake, side_by_side: int) -> None:
        self.lake = lake
        now = recorded_now()
        self.session = Session(now, now, False, commit(), Machine.here(), side_by_side)
        write_session(self.session, lake)

    def note(self, *trainings: FinishedTraining, finished: bool = False) -> None:
        """A step is done: perhaps `trainings`, perhaps the last."""
        every = (*self.session.trainings, *trainings)
        self.session = replace(self.session, ended=recorded_now(), finished=finished, trainings=every)
        write_session(self.session, self.lake)


def read_sessions(lake: Lake) -> list[Session]:
    """Every session of this home, the first one first; none where nothing ran headless."""
    if not lake.sessions.exists():
        return []
    return sessions_decoder.decode(lake.sessions.read_bytes())["sessions"]


def write_session(session: Session, lake: Lake) -> None:
    """Keep `session` beside the earlier ones; the one that started when it did is replaced."""
    earlier = [other for other in read_sessions(lake) if other.started != session.started]
    write_json({"sessions": msgspec.to_builtins([*earlier, session])}, lake.sessions)


def recorded_now() -> datetime:
    """The time that a session's record gets: this moment, naive and in UTC as every time of the system."""
    return datetime.now(UTC).replace(tzinfo=None)
