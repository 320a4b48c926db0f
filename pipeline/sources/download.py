"""Verified download of one file over HTTP: retries with backoff, deadlines, a size limit, resuming.

An `Examiner` sees the bytes as they arrive, and accepts or rejects the file.
"""

import base64
import email.utils
import hashlib
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
import requests
import urllib3

from pipeline.lake import replacing, write_json
from pipeline.machine import PACKAGE
from pipeline.sources.deadline import Deadline, watched_session
from pipeline.sources.urls import address_of, without_secrets

CHUNK_BYTES = 1 << 18
LARGEST = 4 << 30  # bytes
MOST_REDIRECTS = 5
USER_AGENT = f"{PACKAGE}/{version(PACKAGE)} (python-requests)"
MD5_TAG = re.compile(r'"?([0-9a-fA-F]{32})"?')
NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
T = TypeVar("T")
# Errors that a request may raise; a redirect to an invalid address is a ValueError.
BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)


@dataclass(frozen=True)
class DownloadSettings:
    """Retries, timeouts and size limit of a download.

    A failing request is tried `attempts` times in all, with exponential backoff from `backoff` up to
    `longest_wait` seconds; a longer Retry-After ends the tries. `read_timeout` bounds each silence and
    `attempt_timeout` each try, headers and redirects included, in seconds. A file of more than `largest`
    bytes is refused.
    """

    attempts: int = 6
    backoff: float = 1.0
    longest_wait: float = 120.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    attempt_timeout: float = 1800.0
    largest: int = LARGEST
    user_agent: str = USER_AGENT

    def __post_init__(self) -> None:
        for name in ("attempts", "largest"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("backoff", "longest_wait", "connect_timeout", "read_timeout", "attempt_timeout"):
            if getattr(self, name) < 0 or ("timeout" in name and not getattr(self, name)):
                least = "positive" if "timeout" in name else "zero or more"
                raise ValueError(f"{name} must be {least} seconds, not {getattr(self, name)!r}")


class DownloadError(Exception):
    """The file is not available in this run; the message says why, without secrets."""


class NotThereError(DownloadError):
    """The source has no such file."""


class TryAgainError(DownloadError):
    """An answer that is not the file, though a retry may succeed; `wait` is Retry-After in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class UnreachableError(TryAgainError):
    """No answer, or that of a failing server: requests for other files would fail, too."""


@dataclass(frozen=True)
class Arrival:
    """A file received completely in its part, consistent with its headers."""

    bytes: int
    md5: str
    etag: str | None
    hashed: bool  # the server gave an MD5, and it agrees
    ended: bool  # length, hash or the transfer's own end mark say that nothing is missing


@dataclass(frozen=True)
class Version:
    """ETag and MD5 of a file that is held already."""

    etag: str | None
    md5: str | None


class Examiner(Protocol):
    """Check of a file while it arrives; its errors are faults of the answer."""

    def begin(self, hashed: bool) -> None:
        """Start at the first byte; `hashed` says whether the server gave the MD5."""

    def feed(self, piece: bytes) -> None:
        """Check the next bytes; a `TryAgainError` stops the transfer."""

    def end(self, arrival: Arrival) -> None:
        """Check the complete file; a `DownloadError` rejects it."""


@dataclass(frozen=True)
class Origin:
    """Identity of the file that a part belongs to: address (as a digest), strong ETag and length."""

    address: str
    etag: str
    total: int

    def goes_on(self, rest: requests.Response, size: int) -> bool:
        """Return whether an answer brings everything after the first `size` bytes."""
        expected = self.etag, f"bytes {size}-{self.total - 1}/{self.total}"
        return expected == (rest.headers.get("ETag"), rest.headers.get("Content-Range"))


origin_decoder = msgspec.json.Decoder(Origin)


class Part:
    """A partial download of the file for `target`, with a note on its origin beside it.

    Bytes without a note are not resumed. The caller must have exclusive access.
    """

    def __init__(self, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self.target = target
        self.path = target.with_name(f".{target.name}.part")
        self.note = self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """The number of bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self) -> Origin | None:
        """Return the origin of the bytes, or None if they cannot be resumed."""
        try:
            return origin_decoder.decode(self.note.read_bytes()) if self.size else None
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def clear(self) -> None:
        """Remove the bytes received so far, the note first."""
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def clear_unless_resumable(self) -> None:
        """Remove bytes that the next try cannot resume."""
        if self.origin() is None:
            self.clear()

    def place(self) -> None:
        """Move the bytes to `target` atomically, flushed to disk before they appear there."""
        with replacing(self.target) as temporary:
            self.path.replace(temporary)
        self.note.unlink(missing_ok=True)


class Sessions(threading.local):
    """An HTTP session for each thread, because sessions are not thread-safe; connections are kept open."""

    def __init__(self, settings: DownloadSettings) -> None:
        self.settings = settings
        self.session = watched_session()
        self.session.max_redirects = MOST_REDIRECTS
        self.session.hooks["response"].append(close_redirect)
        # No content encoding: the file must arrive with its own compression, as it is stored.
        self.session.headers.update({"User-Agent": settings.user_agent, "Accept-Encoding": "identity"})

    def get(self, url: str, headers: dict[str, str] | None = None) -> requests.Response:
        """Send a GET and return the response, its body unread."""
        timeout = (self.settings.connect_timeout, self.settings.read_timeout)
        return self.session.get(url, headers=headers, stream=True, timeout=timeout)


def close_redirect(response: requests.Response, **_: object) -> None:
    """Close a redirect before `requests` reads its body, however long, into memory."""
    if response.is_redirect:
        response.close()


def download(
    url: str,
    part: Part,
    sessions: Sessions,
    examiner: Examiner,
    held: Version | None = None,
) -> Arrival | Version:
    """Download the file at `url` into `part`, verified against its headers and by `examiner`.

    If the server still has the `held` version, nothing is transferred, and this returns it with its current
    ETag. A broken transfer is resumed by the next try, in this run or a later one, as long as the server's
    file stays the same. Raises `DownloadError` on failure.
    """

    def attempt() -> Arrival | Version:
        with Deadline(sessions.settings.attempt_timeout) as deadline:
            try:
                return _exchange(url, part, sessions, examiner, held, deadline)
            except BROKEN:
                deadline.check()
                raise

    return patiently(attempt, sessions.settings)


def patiently(attempt: Callable[[], T], settings: DownloadSettings) -> T:
    """Call `attempt`, with retries and backoff on broken connections or answers; return its result."""
    failure = TryAgainError("not tried")
    for tried in range(settings.attempts):
        if tried:
            wait = min(settings.backoff * 2 ** (tried - 1), settings.longest_wait)
            # Jitter over the upper half, so that files that failed together are not retried together.
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads requests, guards nothing
            if failure.wait is not None:
                if failure.wait > settings.longest_wait:
                    break
                wait = max(wait, failure.wait)
            time.sleep(wait)
        try:
            return attempt()
        except TryAgainError as error:
            failure = error
        except BROKEN as error:
            failure = UnreachableError(_brief(error))
    # Outside any handler: a library's error, which quotes the address, must not be chained to ours.
    raise failure


def _exchange(
    url: str,
    part: Part,
    sessions: Sessions,
    examiner: Examiner,
    held: Version | None,
    deadline: Deadline,
) -> Arrival | Version:
    """Send one request for the file, or for the rest of it, and receive the answer."""
    address, former = address_of(url), part.origin()
    headers = {"If-None-Match": held.etag} if held is not None and held.etag else {}
    if former is not None and former.address != address:
        former = None
    if former is not None:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": former.etag}
    with sessions.get(url, headers) as response:
        code, etag = response.status_code, response.headers.get("ETag")
        if code in {304, 404, 416}:
            part.clear()
        if code == 304 and held is not None:
            response.raw.read()  # no body; this frees the connection for reuse
            return held
        if code == 404:
            raise NotThereError("404 Not Found")
        if code not in {200, 206}:
            kind = UnreachableError if code == 429 or code >= 500 else TryAgainError
            raise kind(f"{code} {_brief(response.reason or '')}", _retry_after(response))
        if held is not None and etag and (etag == held.etag or _md5_tag(etag) == (held.md5 or "")):
            part.clear()
            return replace(held, etag=etag)
        if response.headers.get("Content-Type", "").lower().startswith("text/html"):
            raise TryAgainError("a web page came instead of the file")
        try:
            total = _length(response)
            if code == 206:  # any other part ends the resuming
                if former is None or not former.goes_on(response, part.size):
                    raise TryAgainError("206: the part that came is not the rest of what is there")
                total = former.total
            else:
                part.clear()
                if total and etag and not etag.startswith("W/"):  # weak: the same meaning, not the same bytes
                    write_json(asdict(Origin(address, etag, total)), part.note)
            return _receive(response, part, sessions.settings.largest, examiner, total, deadline)
        except DownloadError:
            part.clear()
            raise


def _receive(
    response: requests.Response,
    part: Part,
    largest: int,
    examiner: Examiner,
    total: int | None,
    deadline: Deadline,
) -> Arrival:
    """Receive the body, pass it to the examiner, and verify it against its headers."""
    if total is not None and total > largest:
        raise DownloadError(f"refused: {total:,} bytes, and at most {largest:,} are taken")
    promised = _promised(response)
    digest = hashlib.md5(usedforsecurity=False)
    examiner.begin(hashed=bool(promised))
    with part.path.open("a+b") as file:
        size = file.seek(0)
        while piece := file.read(CHUNK_BYTES):  # bytes of earlier tries
            size += len(piece)
            digest.update(piece)
            examiner.feed(piece)
        while piece := response.raw.read1(CHUNK_BYTES, decode_content=False):
            size += len(piece)
            if size > largest:
                raise DownloadError(f"refused: more than the {largest:,} bytes that are taken")
            file.write(piece)
            digest.update(piece)
            examiner.feed(piece)
    deadline.check()
    if total is not None and size < total:
        raise ConnectionError(f"short body: {size:,} of {total:,} bytes")
    md5 = digest.hexdigest()
    if (total is not None and size > total) or promised - {md5}:
        raise TryAgainError(
            f"the body ({size:,} bytes, MD5 {md5}) is not what its headers say "
            f"({'no length' if total is None else f'{total:,} bytes'}, "
            f"MD5 {', '.join(sorted(promised)) or 'not given'})"
        )
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
    ended = total is not None or bool(promised) or chunked
    arrival = Arrival(size, md5, response.headers.get("ETag"), hashed=bool(promised), ended=ended)
    examiner.end(arrival)
    return arrival


def _length(response: requests.Response) -> int | None:
    """Return Content-Length, or None if it is absent or there is a Transfer-Encoding."""
    value = response.headers.get("Content-Length")
    if value is None or "Transfer-Encoding" in response.headers:
        return None
    if NUMBER.fullmatch(value.strip()) is None:
        raise TryAgainError(f"Content-Length is {ascii(value)[:40]}: not a number of bytes")
    return int(value)


def _promised(response: requests.Response) -> set[str]:
    """Return every MD5 of the whole file that the headers give, in hexadecimal."""
    headers = response.headers
    hashes = (hashed.strip().partition("=") for hashed in headers.get("x-goog-hash", "").split(","))
    coded = [value for kind, _, value in hashes if kind.lower() == "md5"]
    if response.status_code == 200:  # in a 206 it is the part's
        coded.append(headers.get("Content-MD5", ""))
    digests = {_md5_tag(headers.get("ETag"))}
    for text in coded:
        with suppress(ValueError):
            digests.add(_md5_tag(base64.b64decode(text.strip(), validate=True).hex()))
    return {digest for digest in digests if digest is not None}


def _md5_tag(etag: str | None) -> str | None:
    tag = MD5_TAG.fullmatch(etag or "")
    return tag[1].lower() if tag is not None else None


def _retry_after(response: requests.Response) -> float | None:
    """Return Retry-After in seconds, given as a number or as a date; None if absent or invalid."""
    value = response.headers.get("Retry-After", "").strip()
    if NUMBER.fullmatch(value):
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


def _brief(problem: object) -> str:
    """Return one line about an error, without secrets."""
    name = f"{type(problem).__name__}: " if isinstance(problem, Exception) else ""
    return name + without_secrets(str(problem)).split("\n")[0][:200]
