"""One file over HTTP, verified, or a reason why not: tries, deadlines, a bound, resuming.

An `Examiner` sees the bytes while they arrive, and decides whether they are what they must be.
"""

import base64
import binascii
import email.utils
import hashlib
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Protocol, Self, TypeVar
from urllib.parse import urljoin

import requests
import urllib3
from requests.utils import get_auth_from_url

from pipeline.machine import PACKAGE
from pipeline.sources.deadline import Deadline, watched_session
from pipeline.sources.part import CHUNK_BYTES, Origin, Part
from pipeline.sources.urls import address_of, without_secrets

MD5_TAG = re.compile(r'"?([0-9a-fA-F]{32})"?')
LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", re.ASCII)
REDIRECTS = 5
LARGEST = 4 << 30  # bytes
USER_AGENT = f"{PACKAGE}/{version(PACKAGE)} (python-requests)"
T = TypeVar("T")
# What a request may raise, whatever the server says: a redirect to no address is a ValueError.
BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)


@dataclass(frozen=True)
class DownloadSettings:
    """How patiently a file is downloaded, and how large it may be.

    A request that fails is tried `attempts` times in all, after waits that double from `backoff` up to
    `longest_wait` seconds; a longer Retry-After ends the tries. `read_timeout` is the longest silence and
    `attempt_timeout` the longest try borne, headers and redirects included, in seconds. A file of more than
    `largest` bytes is refused.
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
        for name in ("connect_timeout", "read_timeout", "attempt_timeout"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive seconds, not {getattr(self, name)!r}")
        for name in ("backoff", "longest_wait"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be seconds, zero or more, not {getattr(self, name)!r}")


class DownloadError(Exception):
    """The file cannot be had in this run; the message says why, without secrets."""


class NotThereError(DownloadError):
    """The source has no such file."""


class TryAgainError(DownloadError):
    """An answer that is not the file, though the next may be; `wait` is what the server asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class UnreachableError(TryAgainError):
    """No answer, or that of a server in trouble: another file would fare no better."""


@dataclass(frozen=True)
class Arrival:
    """A file that arrived in its part, as its headers say."""

    bytes: int
    md5: str
    etag: str | None
    hashed: bool  # the server gave an MD5, and it agrees
    ended: bool  # length, hash or the transfer's own end mark say that nothing is missing


@dataclass(frozen=True)
class Unchanged:
    """The server has the version that is held; its ETag now."""

    etag: str | None


@dataclass(frozen=True)
class Version:
    """The version of a file that is held already."""

    etag: str | None
    md5: str | None


class Examiner(Protocol):
    """Looks at a file while it arrives; what it raises is the answer's fault."""

    def begin(self, hashed: bool) -> None:
        """Bytes follow from the first on; `hashed` says whether the server gave their MD5."""

    def feed(self, piece: bytes) -> None:
        """The next bytes; a `TryAgainError` stops the transfer."""

    def end(self, arrival: Arrival) -> None:
        """All of it is there; a `DownloadError` rejects it."""


class Sessions:
    """One HTTP session per thread: connections are kept open, and sessions are not shared."""

    def __init__(self, settings: DownloadSettings) -> None:
        self.settings = settings
        self.local = threading.local()
        self.all: list[requests.Session] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self.all:
            session.close()

    def get(self) -> requests.Session:
        """The session of this thread."""
        if not hasattr(self.local, "session"):
            session = watched_session()
            # The file is wanted as it is stored: its own compression is not the transfer's.
            session.headers.update({"User-Agent": self.settings.user_agent, "Accept-Encoding": "identity"})
            self.local.session = session
            self.all.append(session)
        return self.local.session


def download(
    url: str,
    part: Part,
    settings: DownloadSettings,
    sessions: Sessions,
    examiner: Examiner,
    held: Version | None = None,
) -> Arrival | Unchanged:
    """Bring the file at `url` into `part`, verified against its headers and by `examiner`.

    If the server still has the version that is `held`, nothing is transferred. What arrived of a try that
    broke off is resumed by the next, in this run or a later one, as long as the file stays the same there.
    """

    def attempt() -> Arrival | Unchanged:
        return _attempt(url, part, settings, sessions.get(), examiner, held)

    return patiently(attempt, settings)


def patiently(attempt: Callable[[], T], settings: DownloadSettings) -> T:
    """What `attempt` returns, tried again as `settings` say while connections or answers are broken."""
    failure = TryAgainError("not tried")
    for tried in range(settings.attempts):
        if tried:
            wait = min(settings.backoff * 2 ** (tried - 1), settings.longest_wait)
            # Full jitter over the upper half: many files that failed together do not come back together.
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
    # Outside any handler: a library's error, which quotes the address, must not hang on to ours.
    raise failure


def get(
    url: str, session: requests.Session, settings: DownloadSettings, headers: dict[str, str]
) -> requests.Response:
    """The answer to a GET after at most `REDIRECTS` redirects, its body still to be read.

    Redirects are followed here because the library reads the body of each, however long, into memory.
    """
    timeout = (settings.connect_timeout, settings.read_timeout)
    auth = get_auth_from_url(url)
    here = url
    for _ in range(REDIRECTS + 1):
        own = auth if any(auth) and not session.should_strip_auth(url, here) else None
        response = session.get(
            here, headers=headers, stream=True, timeout=timeout, allow_redirects=False, auth=own
        )
        target = session.get_redirect_target(response)
        if target is None:
            return response
        response.close()
        here = urljoin(here, target)
    raise TryAgainError(f"more than {REDIRECTS} redirects")


def _attempt(
    url: str,
    part: Part,
    settings: DownloadSettings,
    session: requests.Session,
    examiner: Examiner,
    held: Version | None,
) -> Arrival | Unchanged:
    """One try within its deadline."""
    with Deadline(settings.attempt_timeout) as deadline:
        try:
            return _request(url, part, settings, session, examiner, held, deadline)
        except BROKEN:
            deadline.check()
            raise


def _request(
    url: str,
    part: Part,
    settings: DownloadSettings,
    session: requests.Session,
    examiner: Examiner,
    held: Version | None,
    deadline: Deadline,
) -> Arrival | Unchanged:
    address = address_of(url)
    former = part.origin()
    if former is not None and former.address != address:
        former = None
    headers = {}
    if held is not None and held.etag:
        headers["If-None-Match"] = held.etag
    if former is not None and former.etag:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": former.etag}
    with get(url, session, settings, headers) as response:
        code = response.status_code
        if code == 304 and held is not None:
            response.raw.read()  # it has no body, and its connection can be used again
            part.clear()
            return Unchanged(held.etag)
        if code == 404:
            part.clear()
            raise NotThereError("404 Not Found")
        if code == 416:
            part.clear()
            raise TryAgainError("416: the file has no such range")
        if code not in {200, 206}:
            kind = UnreachableError if code == 429 or code >= 500 else TryAgainError
            raise kind(f"{code} {_brief(response.reason or '')}", _retry_after(response))
        etag = response.headers.get("ETag")
        if held is not None and etag and (etag == held.etag or _md5_tag(etag) == (held.md5 or "")):
            part.clear()
            return Unchanged(etag)
        if response.headers.get("Content-Type", "").lower().startswith("text/html"):
            raise TryAgainError("a web page came instead of the file")
        if code == 206:
            if former is None:
                raise TryAgainError("206: a part came that was not asked for")
            total = _total(response, part, former)
        else:
            total = _length(response)
            part.begin(Origin(address, etag, total))
        if total is not None and total > settings.largest:
            part.clear()
            raise DownloadError(f"refused: {total:,} bytes, and at most {settings.largest:,} are taken")
        return _receive(response, part, settings, examiner, etag, total, deadline)


def _receive(
    response: requests.Response,
    part: Part,
    settings: DownloadSettings,
    examiner: Examiner,
    etag: str | None,
    total: int | None,
    deadline: Deadline,
) -> Arrival:
    """Take the body in, look at it meanwhile, and hold it against its headers."""
    promised = _promised(response)
    digest = hashlib.md5(usedforsecurity=False)
    try:
        examiner.begin(hashed=bool(promised))
        for piece in part.pieces():  # what was there before
            digest.update(piece)
            examiner.feed(piece)
        size = part.size
        while piece := response.raw.read1(CHUNK_BYTES, decode_content=False):
            size += len(piece)
            if size > settings.largest:
                raise DownloadError(f"refused: more than the {settings.largest:,} bytes that are taken")
            part.append(piece)
            digest.update(piece)
            examiner.feed(piece)
        deadline.check()
        if total is not None and size < total:
            raise _BrokenOffError(f"short body: {size:,} of {total:,} bytes")
        md5 = digest.hexdigest()
        wrong = promised - {md5}
        if (total is not None and size > total) or wrong or part.size != size:
            promised_length = f"{total:,} bytes" if total is not None else "no length"
            raise TryAgainError(
                f"the body ({size:,} bytes, MD5 {md5}) is not what its headers say "
                f"({promised_length}, MD5 {', '.join(sorted(promised)) or 'not given'})"
            )
        chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
        ended = total is not None or bool(promised) or chunked
        arrival = Arrival(size, md5, etag, hashed=bool(promised), ended=ended)
        examiner.end(arrival)
    except _BrokenOffError:
        raise
    except DownloadError:
        part.clear()
        raise
    return arrival


class _BrokenOffError(TryAgainError):
    """What came is right as far as it goes, and can be resumed."""


def _total(response: requests.Response, part: Part, former: Origin) -> int | None:
    """The length of the whole file of which the rest comes; anything but that rest ends the resuming."""
    content_range = RANGE.fullmatch(response.headers.get("Content-Range", ""))
    total = int(content_range[3]) if content_range is not None and content_range[3] != "*" else former.total
    fits = (
        content_range is not None
        and int(content_range[1]) == part.size
        and response.headers.get("ETag") == former.etag
        and (former.total is None or total == former.total)
    )
    if not fits:
        part.clear()
        raise TryAgainError("206: the part that came is not the rest of what is there")
    _length(response)  # refused when it is no number
    return total


def _length(response: requests.Response) -> int | None:
    """What Content-Length says, if it is there and, in a transfer without chunks, means the body."""
    value = response.headers.get("Content-Length")
    if value is None or "Transfer-Encoding" in response.headers:
        return None
    if LENGTH.fullmatch(value.strip()) is None:
        raise TryAgainError(f"Content-Length is {ascii(value)[:40]}: not a number of bytes")
    return int(value)


def _promised(response: requests.Response) -> set[str]:
    """Every MD5 of the whole file that the headers give, in hexadecimal."""
    headers = response.headers
    digests: set[str | None] = {_md5_tag(headers.get("ETag"))}
    if response.status_code == 200:  # of a part it would be the part's
        digests.add(_from_base64(headers.get("Content-MD5", "")))
    for hashed in headers.get("x-goog-hash", "").split(","):
        kind, _, value = hashed.strip().partition("=")
        if kind.lower() == "md5":
            digests.add(_from_base64(value))
    return {digest for digest in digests if digest is not None}


def _md5_tag(etag: str | None) -> str | None:
    tag = MD5_TAG.fullmatch(etag or "")
    return tag[1].lower() if tag is not None else None


def _from_base64(text: str) -> str | None:
    try:
        value = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return value.hex() if len(value) == 16 else None


def _retry_after(response: requests.Response) -> float | None:
    """Seconds the server asks to wait, given as a number or as a date."""
    value = response.headers.get("Retry-After", "").strip()
    if LENGTH.fullmatch(value):
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    if moment is None or moment.tzinfo is None:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _brief(problem: object) -> str:
    """A line about what went wrong that may be shown."""
    name = f"{type(problem).__name__}: " if isinstance(problem, Exception) else ""
    return name + without_secrets(str(problem)).split("\n")[0][:200]
