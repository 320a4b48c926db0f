"""Hour files into the lake: over HTTP or from a folder, verified and whole, or not at all."""

import email.utils
import json
import random
import re
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import requests
import urllib3

from pipeline.lake import Lake, replacing, write_json
from pipeline.progress import Progress
from pipeline.sources.gharchive.files import (
    HourFile,
    load_knowledge,
    md5_of,
    raw_path,
    store_knowledge,
)
from pipeline.sources.gharchive.hours import file_name, hours_of_day, is_settled
from pipeline.sources.gharchive.reading import has_reading

ARCHIVE = "https://data.gharchive.org"
CHUNK_BYTES = 1 << 18
MD5_TAG = re.compile(r'"?([0-9a-fA-F]{32})"?')


@dataclass(frozen=True)
class FetchSettings:
    """How hour files are fetched.

    `base` is the archive's address (http or https) or a local folder, flat or with `YYYY/MM/DD/` folders. A
    request that fails is tried `attempts` times in all, after waits that double from `backoff` up to
    `longest_wait` seconds; a longer Retry-After ends the tries. `read_timeout` is the longest silence and
    `attempt_timeout` the longest download borne, in seconds.
    """

    base: str = ARCHIVE
    connections: int = 4
    attempts: int = 6
    backoff: float = 1.0
    longest_wait: float = 120.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    attempt_timeout: float = 1800.0
    user_agent: str = "latent-dynamic-graphs/0.1 (python-requests)"

    def __post_init__(self) -> None:
        if not self.base:
            raise ValueError("base must be an http(s) address or a local folder, not empty")
        if "://" in self.base and not self.is_http:
            raise ValueError(f"base must be an http(s) address or a local folder, not {self.base!r}")
        for name in ("connections", "attempts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("connect_timeout", "read_timeout", "attempt_timeout"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive seconds, not {getattr(self, name)!r}")
        for name in ("backoff", "longest_wait"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be seconds, zero or more, not {getattr(self, name)!r}")

    @property
    def is_http(self) -> bool:
        """Whether the base is an address, not a folder."""
        return self.base.startswith(("http://", "https://"))


class _TryAgainError(Exception):
    """A request that says nothing about the file; `wait` is what the server asks for, in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _NotThereError(Exception):
    """The source has no such file."""


def fetch_day(
    day: date,
    lake: Lake,
    settings: FetchSettings,
    log: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> list[HourFile]:
    """Bring a day's hour files into the lake, as far as they can be had, and tell what came of every hour.

    A file that is unchanged at the source is not fetched again, one that was replaced is. An hour that fails
    costs no other; run again to complete the day. `now` is the time to judge by, naive times being UTC.
    """
    now = now or datetime.now(UTC)
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    if not settings.is_http and not Path(settings.base).is_dir():
        raise FileNotFoundError(
            f"no folder of hour files at {settings.base!r}; base takes a folder or an address"
        )
    sessions = _Sessions(settings)
    hours = hours_of_day(day)
    files: dict[int, HourFile] = {}
    with (
        sessions,
        Progress(f"{day} fetch", len(hours), "hours", log) as progress,
        ThreadPoolExecutor(settings.connections) as pool,
    ):
        tasks = [pool.submit(_fetch_hour, day, hour, lake, settings, sessions, now) for hour in hours]
        for task in as_completed(tasks):
            file = task.result()
            files[file.hour] = file
            progress.advance(note=f"{sum(file.bytes or 0 for file in files.values()) / 1e6:,.1f} MB")
            if log is not None and file.status != "ok":
                log(f"{file.name}: {file.status}: {file.reason}")
    return [files[hour] for hour in hours]


class _Sessions:
    """One HTTP session a thread: connections are kept open, and sessions are not shared."""

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self.local = threading.local()
        self.all: list[requests.Session] = []

    def __enter__(self) -> "_Sessions":
        return self

    def __exit__(self, *_: object) -> None:
        for session in self.all:
            session.close()

    def get(self) -> requests.Session:
        if not hasattr(self.local, "session"):
            session = requests.Session()
            # The file is wanted as it is stored: its own gzip is not a transfer's.
            session.headers.update({"User-Agent": self.settings.user_agent, "Accept-Encoding": "identity"})
            self.local.session = session
            self.all.append(session)
        return self.local.session


def _fetch_hour(
    day: date, hour: int, lake: Lake, settings: FetchSettings, sessions: _Sessions, now: datetime
) -> HourFile:
    known = load_knowledge(lake, day, hour)
    held = known if known is not None and known.status == "ok" and _is_held(lake, known) else None
    asked_at = now.replace(tzinfo=None)
    try:
        if settings.is_http:
            file = _from_http(day, hour, lake, settings, sessions, held, asked_at)
        else:
            file = _from_folder(day, hour, lake, Path(settings.base), held, asked_at)
    except (_NotThereError, _TryAgainError, OSError) as error:
        if held is not None:
            # The source cannot take back a file that was verified: the day keeps what it has.
            return held
        gone = isinstance(error, _NotThereError)
        status = "missing" if gone and is_settled(day, hour, now) else "failed"
        reason = f"{error}; not settled before half a day" if gone and status == "failed" else str(error)
        file = HourFile(day, hour, status, reason, fetched_at=asked_at)
    if file != known:
        store_knowledge(lake, file)
    return file


def _is_held(lake: Lake, file: HourFile) -> bool:
    return raw_path(lake, file.day, file.hour).exists() or has_reading(lake, file)


def _from_folder(
    day: date, hour: int, lake: Lake, base: Path, held: HourFile | None, asked_at: datetime
) -> HourFile:
    name = file_name(day, hour)
    sources = (base / name, base / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" / name)
    source = next((path for path in sources if path.is_file()), None)
    if source is None:
        raise _NotThereError("not in the folder")
    digest = md5_of(source)
    if held is not None and held.md5 == digest:
        return held if held.etag else replace(held, etag=digest, fetched_at=asked_at)
    path = raw_path(lake, day, hour)
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)
        if md5_of(temporary) != digest:
            raise _TryAgainError("the file changes while it is read")
    return HourFile(day, hour, "ok", "", path.stat().st_size, digest, digest, asked_at)


def _from_http(
    day: date,
    hour: int,
    lake: Lake,
    settings: FetchSettings,
    sessions: _Sessions,
    held: HourFile | None,
    asked_at: datetime,
) -> HourFile:
    path = raw_path(lake, day, hour)
    url = f"{settings.base.rstrip('/')}/{path.name}"
    failure = _TryAgainError("not tried")
    for attempt in range(settings.attempts):
        if attempt:
            wait = min(settings.backoff * 2 ** (attempt - 1), settings.longest_wait)
            # Full jitter over the upper half: many hours that failed together do not come back together.
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads requests, guards nothing
            if failure.wait is not None:
                if failure.wait > settings.longest_wait:
                    break
                wait = max(wait, failure.wait)
            time.sleep(wait)
        try:
            return _request(url, day, hour, path, settings, sessions.get(), held, asked_at)
        except _TryAgainError as error:
            failure = error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            failure = _TryAgainError(f"{type(error).__name__}: {_brief(error)}")
    raise failure


def _request(
    url: str,
    day: date,
    hour: int,
    path: Path,
    settings: FetchSettings,
    session: requests.Session,
    held: HourFile | None,
    asked_at: datetime,
) -> HourFile:
    """One request: the file as it is now at the source, verified and placed, or the one held if unchanged."""
    part = _Part(path)
    headers = {}
    if held is not None and held.etag:
        headers["If-None-Match"] = held.etag
    resumed = part.resumable()
    if resumed is not None:
        size, etag = resumed
        headers |= {"Range": f"bytes={size}-", "If-Range": etag}
    timeout = (settings.connect_timeout, settings.read_timeout)
    deadline = time.monotonic() + settings.attempt_timeout
    with session.get(url, headers=headers, stream=True, timeout=timeout) as response:
        code = response.status_code
        if code == 304 and held is not None:
            return held
        if code == 404:
            raise _NotThereError("404 Not Found")
        if code == 416 or (code == 206 and not part.continues(response)):
            part.discard()
            raise _TryAgainError(f"{code}: the range asked for is not the one given")
        if code not in {200, 206}:
            raise _TryAgainError(f"{code} {response.reason}", _retry_after(response))
        etag = response.headers.get("ETag")
        if held is not None and etag and etag == held.etag:
            return held
        if held is not None and etag and _is_md5(etag, held.md5):
            return replace(held, etag=etag, fetched_at=asked_at)
        if code == 200:
            part.begin(etag)
        expected = part.size() + int(response.headers["Content-Length"]) if _has_length(response) else None
        part.append(response, deadline)
    return part.place(day, hour, etag, expected, asked_at)


class _Part:
    """A file that has not fully arrived: its bytes, and beside them the ETag they belong to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = path.with_name(f".{path.name}.part")
        self.note = path.with_name(f".{path.name}.part.json")

    def resumable(self) -> tuple[int, str] | None:
        """Size and ETag of what arrived before, if the source can be asked for just the rest."""
        if not (self.bytes.exists() and self.note.exists() and self.size()):
            return None
        etag = json.loads(self.note.read_text(encoding="utf-8"))["etag"]
        # A weak tag promises the same meaning, not the same bytes.
        return (self.size(), etag) if etag and not etag.startswith("W/") else None

    def continues(self, response: requests.Response) -> bool:
        return response.headers.get("Content-Range", "").startswith(f"bytes {self.size()}-")

    def begin(self, etag: str | None) -> None:
        self.discard()
        write_json({"etag": etag}, self.note)
        self.bytes.touch()

    def append(self, response: requests.Response, deadline: float) -> None:
        with self.bytes.open("ab") as file:
            # What has arrived is taken as it arrives, so that a broken connection loses none of it.
            while chunk := response.raw.read1(CHUNK_BYTES, decode_content=False):
                file.write(chunk)
                if time.monotonic() > deadline:
                    raise _TryAgainError("the download takes too long")

    def size(self) -> int:
        return self.bytes.stat().st_size

    def discard(self) -> None:
        # The note goes first: bytes without a note are never resumed.
        self.note.unlink(missing_ok=True)
        self.bytes.unlink(missing_ok=True)

    def place(
        self, day: date, hour: int, etag: str | None, expected: int | None, asked_at: datetime
    ) -> HourFile:
        """Verify what arrived against length and ETag, and put it in its place."""
        size = self.size()
        if expected is not None and size < expected:
            raise _TryAgainError(f"short body: {size:,} of {expected:,} bytes")
        digest = md5_of(self.bytes)
        wrong_tag = MD5_TAG.fullmatch(etag or "") is not None and not _is_md5(etag, digest)
        if (expected is not None and size > expected) or wrong_tag:
            self.discard()
            raise _TryAgainError(
                f"the body ({size:,} bytes, MD5 {digest}) is not what its headers say (ETag {etag})"
            )
        with replacing(self.path) as temporary:
            self.bytes.replace(temporary)
        self.discard()
        return HourFile(day, hour, "ok", "", size, etag, digest, asked_at)


def _is_md5(etag: str | None, digest: str | None) -> bool:
    tag = MD5_TAG.fullmatch(etag or "")
    return tag is not None and tag[1].lower() == digest


def _has_length(response: requests.Response) -> bool:
    return response.headers.get("Content-Length", "").isdigit()


def _retry_after(response: requests.Response) -> float | None:
    """Seconds the server asks to wait, given as a number or as a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    if not value:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds()) if moment.tzinfo else None


def _brief(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
