"""Normalization of events of any shape to one row each: actor, counterpart, repository and time."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from pipeline.names import ASSOCIATION_KIND, COMMUNICATION_KIND
from pipeline.sources.gharchive.event import UNREADABLE, Actor, Event, Payload, loosely, payload_decoder, text
from pipeline.sources.gharchive.remembered import Remembered

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
    """The event types of each kind; others are ignored. The defaults are the paper's."""

    communications: frozenset[str] = OWNER_TYPES
    associations: frozenset[str] = frozenset({"FollowEvent"})

    def __post_init__(self) -> None:
        for name in ("communications", "associations"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
            unknown = getattr(self, name) - OWNER_TYPES - PERSON_FIELDS.keys()
            if unknown:
                allowed = ", ".join(sorted(OWNER_TYPES | PERSON_FIELDS.keys()))
                raise ValueError(
                    f"{name} has types without a counterpart: {sorted(unknown)}; it takes {allowed}"
                )
        both = self.communications & self.associations
        if both:
            raise ValueError(f"communications and associations share {sorted(both)}; a type has one kind")

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each type that counts."""
        return dict.fromkeys(self.communications, COMMUNICATION_KIND) | dict.fromkeys(
            self.associations, ASSOCIATION_KIND
        )


# A normalized event: actor, actor_id, counterpart, repo, created_at in microseconds since 1970 (UTC).
# A plain tuple, because there is one per event of the archive.
Row = tuple[str, int | None, str, str | None, int]


def resolve(event: Event) -> Row | str:
    """Return the row of an event whose type has a counterpart, or the reason why it has none."""
    actor = event.actor
    actor_id = None
    if isinstance(actor, Actor):
        actor_id = actor.id
        actor = actor.login
        if not actor:
            actor, actor_id = _login(_payload(event).actor), None
    if not actor:
        return "no actor"

    owner, repo = _owner_and_repo(event)
    if event.type in OWNER_TYPES:
        counterpart = owner
        if counterpart is None:
            return "no repository owner"
    else:
        field = PERSON_FIELDS[event.type]
        counterpart = _login(getattr(_payload(event), field))
        if counterpart is None:
            return f"no payload.{field}"
    if not (actor.isascii() and counterpart.isascii()) and "\ufffd" in actor + counterpart:
        return "actor or counterpart is not UTF-8"
    if event.created_at is None:
        return "no created_at"
    created_at = _moments[event.created_at]
    if created_at is None:
        return "created_at is not a time"
    return actor, actor_id, counterpart, repo, created_at


def tells_who_and_when(event: Event) -> bool:
    """Return whether an actor and a time can be read from an event of any type."""
    actor = event.actor
    if isinstance(actor, Actor):
        actor = actor.login or _login(_payload(event).actor)
    return bool(actor) and event.created_at is not None and _moments[event.created_at] is not None


def microseconds(created_at: str) -> int | None:
    """Return an event's time, as any shape writes it, in microseconds since 1970 (UTC); None if invalid."""
    try:
        if created_at[4:5] == "/":
            moment = datetime.strptime(created_at, "%Y/%m/%d %H:%M:%S %z")
        else:
            moment = datetime.fromisoformat(created_at)
        # A time without a zone is ambiguous.
        if moment.tzinfo is None:
            return None
        return (moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


_moments = Remembered(microseconds)


def _payload(event: Event) -> Payload:
    """Decode the payload's relevant fields; invalid UTF-8 in one of them does not hide the others."""
    try:
        return payload_decoder.decode(event.payload)
    except UNREADABLE:
        try:
            fields = loosely(bytes(event.payload))
        except UNREADABLE:
            return Payload()
        telling = (
            {name: fields.get(name) for name in Payload.__struct_fields__} if isinstance(fields, dict) else {}
        )
        return Payload(**telling)


def _login(value: object) -> str | None:
    login = value.get("login") if isinstance(value, dict) else value
    return text(login) or None


def _owner_and_repo(event: Event) -> tuple[str | None, str | None]:
    """Return the owner and `owner/name` of the repository, each None if the event does not give it."""
    repository = event.repository
    if repository is not None and repository.owner:  # shape B
        return repository.owner, f"{repository.owner}/{repository.name}" if repository.name else None
    if event.repo is not None:  # shapes A, C and D; in 2011 it is sometimes in the payload
        repo = event.repo.name or ""
        owner, _, name = repo.partition("/")
        if not (owner and name):
            repo = text(_payload(event).repo) or ""
            owner, _, name = repo.partition("/")
        return (owner, repo) if owner and name else (None, None)
    if event.url and event.type not in URL_IS_OF_ANOTHER:  # shape B with an owner left empty
        return _from_url(event.url)
    return None, None


def _from_url(url: str) -> tuple[str | None, str | None]:
    """Return the owner and `owner/name` of the repository of a GitHub URL; None twice for other URLs."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None, None
    path = parts.path.split("/")
    if parts.hostname not in {"github.com", "www.github.com"} or len(path) < 3 or not (path[1] and path[2]):
        return None, None
    return path[1], f"{path[1]}/{path[2]}"
