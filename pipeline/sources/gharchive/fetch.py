"""Fetching of hour files into the lake, over HTTP or from a folder: verified and stored atomically."""

import hashlib
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path

from pipeline.cluster.task import Log
from pipeline.lake import Lake, replacing
from pipeline.locks import LONGEST_WAIT_FOR_A_SLOT, hold, hold_one_of
from pipeline.progress import Progress
from pipeline.sources.deadline import Deadline
from pipeline.sources.download import (
    CHUNK_BYTES,
    Arrival,
    DownloadError,
    DownloadSettings,
    NotThereError,
    Part,
    Sessions,
    TryAgainError,
    UnreachableError,
    Version,
    download,
    patiently,
)
from pipeline.sources.gharchive.files import (
    HourFile,
    load_knowledge,
    md5_of,
    raw_path,
    smaller_path,
    store_knowledge,
)
from pipeline.sources.gharchive.hours import ARCHIVE, HOUR_FILE, file_name, hours_of_day, is_settled
from pipeline.sources.gharchive.reading import count_events, count_held_events, has_reading
from pipeline.sources.gharchive.whole import GzipCheck, NotGzipError
from pipeline.sources.urls import check_url, is_url, shown_address


@dataclass(frozen=True)
class FetchSettings(DownloadSettings):
    """Settings for fetching hour files.

    `base` is the archive's address (http or https) or a local folder, flat or with `YYYY/MM/DD/` folders;
    `connections` is the number of hours fetched concurrently.
    """

    base: str = field(default=ARCHIVE, repr=False)  # it may hold a password
    connections: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.base:
            raise ValueError(
                "base (LDG_GHARCHIVE_URL) must be an http(s) address or a local folder, not empty"
            )
        if self.is_http:
            check_url(self.base, "base (LDG_GHARCHIVE_URL)")
        elif "://" in self.base:
            scheme = self.base.partition("://")[0]
            raise ValueError(
                f"base (LDG_GHARCHIVE_URL) must be an http(s) address or a local folder, not {scheme!r}"
            )
        if self.connections < 1:
            raise ValueError(f"connections must be at least 1, not {self.connections!r}")

    @property
    def is_http(self) -> bool:
        """Return whether the base is an address, not a folder."""
        return is_url(self.base)


# The probe waits for seconds, not for the minutes allowed for an hour file.
PROBING = DownloadSettings(
    attempts=3, backoff=0.5, connect_timeout=5.0, read_timeout=10.0, attempt_timeout=10.0
)


def probe(settings: FetchSettings) -> None:
    """Raise within seconds if the archive cannot be reached; any HTTP status counts as reached."""
    if not settings.is_http:
        if not Path(settings.base).is_dir():
            raise FileNotFoundError(
                f"no folder of hour files at {settings.base!r}; "
                "base (LDG_GHARCHIVE_URL) takes a folder or an address"
            )
        return

    def ask() -> None:
        with Deadline(PROBING.attempt_timeout), sessions.get(settings.base):
            pass

    reason = ""
    sessions = Sessions(replace(PROBING, user_agent=settings.user_agent))
    try:
        patiently(ask, PROBING)
    except DownloadError as error:
        reason = str(error)
    if reason:
        raise ConnectionError(
            f"the archive at {shown_address(settings.base)} (LDG_GHARCHIVE_URL) cannot be reached; "
            f"check the connection and the address ({reason})"
        )


def require_some_hour(
    lake: Lake, settings: FetchSettings, days: Sequence[date], statuses: Counter[str]
) -> None:
    """Raise if most hours of these days are missing, none was found and the home has none of other days.

    Then the address or the days are wrong. A home with hours may ask for days that the archive lacks.
    """
    found = statuses["ok"] + statuses["damaged"]
    if found or statuses["missing"] <= statuses["failed"] or _has_hours(lake):
        return
    raise FileNotFoundError(
        f"no hour from {min(days)} to {max(days)} was found at {shown_address(settings.base)} "
        f"({statuses['missing']} missing, {statuses['failed']} failed): "
        "check LDG_GHARCHIVE_URL and the days that are asked for"
    )


def _has_hours(lake: Lake) -> bool:
    return any(lake.gharchive_raw.rglob("*.json.gz")) or any(lake.github_events.rglob("*.parquet"))


LONGEST_FETCH = 3600.0  # seconds to wait for another process that fetches the same day
# Two rounds of the default connections: with the waits between tries, about a minute.
LONGEST_STREAK = 8


@dataclass
class Streak:
    """Circuit breaker that counts consecutive hours for which the archive could not be reached."""

    hours: int = 0
    reason: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, error: Exception | None) -> None:
        """Record the outcome of a request for an hour; None is success."""
        with self.lock:
            self.hours = self.hours + 1 if isinstance(error, UnreachableError) else 0
            self.reason = str(error)

    @property
    def so_far(self) -> tuple[int, str]:
        """The hours so far and the last error, to continue the streak in another process."""
        return self.hours, self.reason

    def check(self) -> None:
        """Raise `GivenUpError` after `LONGEST_STREAK` hours."""
        with self.lock:
            if self.hours >= LONGEST_STREAK:
                raise GivenUpError(f"not asked for: {self.hours} hours in a row failed ({self.reason})")


class GivenUpError(DownloadError):
    """The archive became unreachable; the remaining hours are left to the next run."""


def fetch_day(
    day: date,
    lake: Lake,
    settings: FetchSettings,
    log: Callable[[str], None] | None = None,
    now: datetime | None = None,
    streak: Streak | None = None,
) -> list[HourFile]:
    """Fetch a day's hour files into the lake, as far as they are available; return a note on every hour.

    A file that is unchanged at the source is not fetched again, a replaced one is. A failed hour does not
    affect the others; run again to complete the day. A second run that wants the same day waits for the
    first. `now` is the reference time, UTC if naive. `streak` continues that of earlier days.
    """
    streak = streak or Streak()
    now = now or datetime.now(UTC)
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    if not settings.is_http:
        probe(settings)
    hours = hours_of_day(day)
    files: dict[int, HourFile] = {}
    sessions = Sessions(settings)
    with (
        hold(lake.lock("fetches", day.isoformat()), f"{day} is being fetched", "a fetch", LONGEST_FETCH, log),
        Progress(f"{day} fetch", len(hours), "hours asked for", log) as progress,
        ThreadPoolExecutor(settings.connections) as pool,
    ):
        tasks = [pool.submit(_fetch_hour, day, hour, lake, settings, sessions, now, streak) for hour in hours]
        for task in as_completed(tasks):
            file, trouble = task.result()
            files[file.hour] = file
            statuses = Counter(file.status for file in files.values())
            megabytes = sum(file.bytes or 0 for file in files.values()) / 1e6
            progress.advance(
                note=f"{statuses['ok']} found, {statuses['missing']} missing, {statuses['failed']} failed · "
                f"{megabytes:,.1f} MB"
            )
            if log is not None and trouble:
                state = "kept as it was" if file.status == "ok" else file.status
                log(f"{file.name}: {state}: {trouble}")
    return [files[hour] for hour in hours]


def held_day(day: date, lake: Lake) -> list[HourFile]:
    """Return the notes on a day's hours without a request to the source."""
    return [
        load_knowledge(lake, day, hour) or HourFile(day, hour, "failed", "not fetched yet")
        for hour in hours_of_day(day)
    ]


def hour_is_wanted(lake: Lake, file: HourFile) -> bool:
    """Return whether an hour must still be fetched."""
    return file.status == "failed" or (file.status == "ok" and not _is_held(lake, file))


def _is_held(lake: Lake, file: HourFile) -> bool:
    return raw_path(lake, file.day, file.hour).exists() or has_reading(lake, file)


def _fetch_hour(
    day: date,
    hour: int,
    lake: Lake,
    settings: FetchSettings,
    sessions: Sessions,
    now: datetime,
    streak: Streak,
) -> tuple[HourFile, str]:
    """Request an hour; return its note and an error message, empty on success."""
    asked_at = now.replace(tzinfo=None)
    try:
        part = Part(raw_path(lake, day, hour))
        before = load_knowledge(lake, day, hour)
        held = before if before is not None and before.status == "ok" and _is_held(lake, before) else None
        examiner = _HourExaminer(part, lake, held)
        trouble = ""
        try:
            streak.check()
            if settings.is_http:
                file = _from_http(day, hour, part, settings, sessions, examiner, held, asked_at)
            else:
                file = _from_folder(day, hour, part, settings, examiner, held, asked_at)
            streak.note(None)
            file = replace(file, reason="")
            smaller_path(lake, day, hour).unlink(missing_ok=True)
        except (DownloadError, OSError) as error:
            if not isinstance(error, GivenUpError):
                streak.note(error)
            # A verified hour is kept, whatever the source answers now.
            trouble = str(error)
            file = held or _not_had(day, hour, error, now)
            if isinstance(error, LesserError):
                file = replace(file, reason=trouble)
        finally:
            part.clear_unless_resumable()
        if file != before:
            store_knowledge(lake, file)
        return file, trouble or file.reason
    except OSError as error:  # the lake cannot be written to
        before = load_knowledge(lake, day, hour)
        if before is not None and not hour_is_wanted(lake, before):
            return before, str(error)
        return HourFile(day, hour, "failed", str(error), fetched_at=asked_at), str(error)


def _not_had(day: date, hour: int, error: Exception, now: datetime) -> HourFile:
    reason, asked_at = str(error), now.replace(tzinfo=None)
    if not isinstance(error, NotThereError):
        return HourFile(day, hour, "failed", reason, fetched_at=asked_at)
    if is_settled(day, hour, now):
        return HourFile(day, hour, "missing", reason, fetched_at=asked_at)
    return HourFile(day, hour, "failed", f"{reason}; not settled before half a day", fetched_at=asked_at)


class LesserError(DownloadError):
    """The source's file of an hour has less than the held one; the message says how much less."""


# A replacement with a smaller share of the held number of events is rejected.
LEAST_SHARE_OF_EVENTS = 0.9


class _HourExaminer:
    """Acceptance check: gzip, not a web page; a held hour is replaced only by a whole one of similar size.

    The archive itself has empty hours and hours with broken gzip, from which the reader salvages events.
    Such a file is accepted if no hour is held and the source certainly has it so: its MD5 agrees, or it
    arrives twice. So is a file without any mark of its end, if it arrives twice.
    """

    def __init__(self, part: Part, lake: Lake, held: HourFile | None) -> None:
        self.part, self.lake, self.held = part, lake, held
        self.rejected = ""  # MD5 of the last file that was not whole
        self.events = 0  # of the file compared with the held one
        self.check = GzipCheck(thorough=True)

    def begin(self, hashed: bool) -> None:
        """Start a file; unless `hashed` (the MD5 proves the transfer), its gzip is checked as a whole."""
        self.check = GzipCheck(thorough=self.held is not None or not hashed)
        self.events = 0

    def feed(self, piece: bytes) -> None:
        """Check the next bytes; raise `TryAgainError` if they are not gzip."""
        try:
            self.check.feed(piece)
        except NotGzipError as error:
            raise TryAgainError(str(error)) from None

    def end(self, arrival: Arrival) -> None:
        """Raise if the file is a web page, incomplete or worse than the held one."""
        problem = self.check.problem()
        if not arrival.bytes or len(self.check.begin) < 2:
            raise TryAgainError(problem)
        text = self.check.text
        if text.startswith(b"<") and not count_events(self.part.path):
            raise TryAgainError(f"a web page in gzip: its text begins with {text!r}")
        came_twice = arrival.md5 == self.rejected
        if not arrival.ended and (self.held is not None or not came_twice):
            problem = problem or "nothing tells where the file ends"
        problem = problem or self._lack_of_events()
        if not problem:
            return
        certain = arrival.hashed or (arrival.ended and came_twice)
        self.rejected = arrival.md5
        if not certain:
            raise TryAgainError(problem)
        if self.held is not None:
            raise LesserError(f"{problem}; the hour that is held is better{self._keep_aside()}")

    def _lack_of_events(self) -> str:
        """Return why a whole file is rejected: no text, or too few events; empty if it is accepted."""
        if self.held is None:
            return "" if self.check.text else "no text in the gzip"
        self.events, held = count_events(self.part.path), count_held_events(self.lake, self.held)
        if self.events and self.events >= LEAST_SHARE_OF_EVENTS * held:
            return ""
        return f"the file at the source has {self.events:,} events, and {held:,} are held"

    def _keep_aside(self) -> str:
        """Keep a smaller file that has events beside the raw ones; return words about its path."""
        if not self.events or self.held is None:
            return ""
        aside = smaller_path(self.lake, self.held.day, self.held.hour)
        with replacing(aside) as temporary:
            shutil.copyfile(self.part.path, temporary)
        return f", and the smaller file is kept as {aside.relative_to(self.lake.home)}"


def _from_http(
    day: date,
    hour: int,
    part: Part,
    settings: FetchSettings,
    sessions: Sessions,
    examiner: _HourExaminer,
    held: HourFile | None,
    asked_at: datetime,
) -> HourFile:
    base, question, query = settings.base.partition("?")
    url = f"{base.rstrip('/')}/{part.target.name}{question}{query}"
    version = Version(held.etag, held.md5) if held is not None else None
    answer = download(url, part, sessions, examiner, version)
    if isinstance(answer, Version):
        assert held is not None, "nothing is unchanged unless something is held"
        return held if answer.etag == held.etag else replace(held, etag=answer.etag, fetched_at=asked_at)
    part.place()
    return HourFile(day, hour, "ok", "", answer.bytes, answer.etag, answer.md5, asked_at)


def _from_folder(
    day: date,
    hour: int,
    part: Part,
    settings: FetchSettings,
    examiner: _HourExaminer,
    held: HourFile | None,
    asked_at: datetime,
) -> HourFile:
    source = hour_in_folder(Path(settings.base), day, hour)
    if source is None:
        raise NotThereError("not in the folder")
    if source.stat().st_size > settings.largest:
        raise DownloadError(
            f"refused: {source.stat().st_size:,} bytes, at most {settings.largest:,} are taken"
        )
    digest = md5_of(source)
    if held is not None and held.md5 == digest:
        return held if held.etag else replace(held, etag=digest, fetched_at=asked_at)
    part.clear()
    arrival = _copy(source, part, examiner)
    if arrival.md5 != digest:
        raise TryAgainError("the file changes while it is read")
    examiner.end(arrival)
    part.place()
    return HourFile(day, hour, "ok", "", arrival.bytes, digest, digest, asked_at)


def hour_in_folder(folder: Path, day: date, hour: int) -> Path | None:
    """Find an hour's file in a folder that is flat or has `YYYY/MM/DD/` folders."""
    name = file_name(day, hour)
    places = (folder / name, folder / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" / name)
    return next((path for path in places if path.is_file()), None)


def newest_day_in_folder(folder: Path, until: date) -> date | None:
    """Find the newest day up to `until` of which a folder has an hour file."""
    files = chain(folder.glob("*.json.gz"), folder.glob("????/??/??/*.json.gz"))
    days = {match[1] for file in files if (match := HOUR_FILE.fullmatch(file.name))}
    return max((day for day in map(date.fromisoformat, days) if day <= until), default=None)


def _copy(source: Path, part: Part, examiner: _HourExaminer) -> Arrival:
    copied = hashlib.md5(usedforsecurity=False)
    examiner.begin(hashed=True)
    with source.open("rb") as file, part.path.open("wb") as copy:
        while piece := file.read(CHUNK_BYTES):
            examiner.feed(piece)
            copied.update(piece)
            copy.write(piece)
    digest = copied.hexdigest()
    return Arrival(part.size, digest, digest, hashed=True, ended=True)


def fetching_slot(
    lake: Lake, settings: FetchSettings, work: str, log: Log | None = None
) -> AbstractContextManager[object]:
    """Hold one of the home's slots for fetching from an archive; a folder needs none."""
    if not settings.is_http:
        return nullcontext()
    slots = [lake.lock("slots", "gharchive", str(number)) for number in range(FETCHING_SLOTS)]
    happening = f"every slot for gharchive ({FETCHING_SLOTS}) is taken"
    return hold_one_of(slots, happening, work, LONGEST_WAIT_FOR_A_SLOT, log)


FETCHING_SLOTS = 2  # each uses four connections; more would burden the archive
