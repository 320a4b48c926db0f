"""From an event of any shape to the one row that is kept: who interacted with whom, how and when."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from isal.isal_zlib import crc32

from pipeline.gharchive.event import Actor, Event, text

OWNER_TYPES = frozenset(
    {
        "WatchEvent",
        "ForkEvent",
        "PushEvent",
        "IssuesEvent",
        "IssueCommentEvent",
        "PullRequestEvent",
        "CommitCommentEvent",
    }
)
PERSON_FIELDS = {"FollowEvent": "target", "MemberEvent": "member"}
URL_IS_OF_ANOTHER = frozenset({"ForkEvent", "FollowEvent"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class EventRules:
    """Which types of event count, and as what; the others are ignored. The default is the paper's choice."""

    communications: frozenset[str] = OWNER_TYPES
    associations: frozenset[str] = frozenset({"FollowEvent"})

    def __post_init__(self) -> None:
        for name in ("communications", "associations"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
            unknown = getattr(self, name) - OWNER_TYPES - PERSON_FIELDS.keys()
            if unknown:
                known = ", ".join(sorted(OWNER_TYPES | PERSON_FIELDS.keys()))
                raise ValueError(
                    f"{name} has types without a counterpart: {sorted(unknown)}; it takes {known}"
                )
        both = self.communications & self.associations
        if both:
            raise ValueError(f"communications and associations share {sorted(both)}; a type has one kind")

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each type that counts."""
        return dict.fromkeys(self.communications, "communication") | dict.fromkeys(
            self.associations, "association"
        )


# Who interacted with whom: actor, actor_id, counterpart, repo, created_at in microseconds since 1970 (UTC).
# A plain tuple, for there is one for each event of the archive.
Row = tuple[str, int | None, str, str | None, int]


def resolve(event: Event) -> Row | str:
    """The row of an event of a type that has a counterpart, or the reason why there is none."""
    payload = None
    actor = event.actor
    actor_id = None
    if isinstance(actor, Actor):
        actor_id = actor.id
        actor = actor.login
        if not actor:
            payload = _payload(event)
            actor, actor_id = _login(payload.get("actor")), None
    if not actor:
        return "no actor"

    if event.repo is not None:
        repo = event.repo.name
        owner = _owner(repo)
        if owner is None:
            payload = _payload(event) if payload is None else payload
            repo = text(payload.get("repo"))
            owner = _owner(repo)
            repo = repo if owner else None
    else:
        owner, repo = _owner_and_repo(event)

    if event.type in OWNER_TYPES:
        counterpart = owner
        if counterpart is None:
            return "no repository owner"
    else:
        payload = _payload(event) if payload is None else payload
        counterpart = _login(payload.get(PERSON_FIELDS[event.type]))
        if counterpart is None:
            return f"no payload.{PERSON_FIELDS[event.type]}"
    if "\ufffd" in actor or "\ufffd" in counterpart:
        return "actor or counterpart is not UTF-8"
    if event.created_at is None:
        return "no created_at"
    created_at = microseconds(event.created_at)
    if created_at is None:
        return "created_at is not a time"
    return actor, actor_id, counterpart, repo, created_at


def identity(event: Event) -> bytes:
    """Sixteen bytes that two copies of an event share: of type, id and time, or of all that is said."""
    if event.id is not None:
        return blake2b(f"{event.type}\n{event.id}\n{event.created_at}".encode(), digest_size=16).digest()
    actor = event.actor.login if isinstance(event.actor, Actor) else event.actor
    repo = event.repo.name if event.repo is not None else None
    said = f"{event.type}\n{actor}\n{event.url}\n{event.created_at}\n{repo}".encode()
    # A checksum is enough for the payload: it tells apart the few events that agree in all the rest.
    return blake2b(said, digest_size=12).digest() + crc32(event.payload).to_bytes(4, "little")


@lru_cache(maxsize=16384)
def microseconds(created_at: str) -> int | None:
    """Microseconds since 1970 (UTC) of an event's time as any shape writes it, or None."""
    try:
        if created_at[4:5] == "/":
            moment = datetime.strptime(created_at, "%Y/%m/%d %H:%M:%S %z")
        else:
            moment = datetime.fromisoformat(created_at)
        # A time without a zone could be any of 24 hours.
        return None if moment.tzinfo is None else (moment - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _payload(event: Event) -> dict[str, Any]:
    """The payload's fields; broken UTF-8 in one of them does not hide the others."""
    raw = bytes(event.payload)
    try:
        payload = json.loads(raw.decode("utf-8", "replace")) if raw else None
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _login(value: object) -> str | None:
    login = value.get("login") if isinstance(value, dict) else value
    return text(login) or None


def _owner(repo: str | None) -> str | None:
    if repo is None:
        return None
    owner, slash, name = repo.partition("/")
    return owner if owner and slash and name else None


def _owner_and_repo(event: Event) -> tuple[str | None, str | None]:
    """Owner and `owner/name` in shape B; an empty owner is in the URL, which of a fork is the new one's."""
    repository = event.repository
    owner, name = (repository.owner, repository.name) if repository is not None else (None, None)
    if not owner and event.url and event.type not in URL_IS_OF_ANOTHER:
        owner, name = _from_url(event.url)
    if not owner:
        return None, None
    return owner, f"{owner}/{name}" if name else None


def _from_url(url: str) -> tuple[str | None, str | None]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None, None
    path = parts.path.split("/")
    if parts.hostname not in {"github.com", "www.github.com"} or len(path) < 3:
        return None, None
    return path[1] or None, path[2] or None
