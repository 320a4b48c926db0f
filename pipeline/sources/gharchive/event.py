"""Wire format of an event: only the fields that are needed, in any of the archive's seven shapes."""

import json
from typing import Annotated, Any

import msgspec

Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # the range of an Int64 column


class Actor(msgspec.Struct, gc=False):
    """`actor` as an object (shapes A, C, D)."""

    login: str | None = None
    id: Number | None = None


class Repo(msgspec.Struct, gc=False):
    """`repo` (shapes A, C, D): `name` is `owner/name`, or `/` in some events of 2011."""

    name: str | None = None


class Repository(msgspec.Struct, gc=False):
    """`repository` (shape B): the owner may be empty."""

    owner: str | None = None
    name: str | None = None


class Event(msgspec.Struct, gc=False):
    """One event. The payload stays undecoded: few types need to look into it."""

    type: str
    id: str | int | None = None
    actor: str | Actor | None = None
    repo: Repo | None = None
    repository: Repository | None = None
    url: str | None = None
    created_at: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"")


class Payload(msgspec.Struct, gc=False):
    """The fields of a payload that name an account or a repository, in whatever form they are."""

    actor: Any = None
    repo: Any = None
    target: Any = None
    member: Any = None


# Errors raised by decoding: not JSON, JSON of another form, broken UTF-8, a number too long, too many levels.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
LONGEST_NUMBER = 4000  # digits; Python refuses to parse more than 4,300

decoder = msgspec.json.Decoder(Event)
payload_decoder = msgspec.json.Decoder(Payload)
_loose_decoder = json.JSONDecoder(parse_int=lambda text: int(text) if len(text) <= LONGEST_NUMBER else None)


def is_event_type(value: object) -> bool:
    """Return whether `value` is the name of an event type; the archive also has a bare `Event`."""
    return isinstance(value, str) and value.endswith("Event")


def text(value: object) -> str | None:
    """Return `value` as well-formed text, or None; lone surrogates become U+FFFD, which no login has."""
    return (
        value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if isinstance(value, str) else None
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def loosely(text: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Decode `text` as JSON, with U+FFFD for invalid UTF-8 and None for integers of over 4,000 digits."""
    return _loose_decoder.decode(text.decode("utf-8", "replace"))


def event_from(value: object) -> Event | None:
    """Return the event in loosely decoded JSON, or None; a malformed field counts as absent."""
    if not isinstance(value, dict) or not is_event_type(value.get("type")):
        return None
    actor, repo, repository, event_id = (value.get(key) for key in ("actor", "repo", "repository", "id"))
    payload = value.get("payload")
    return Event(
        type=text(value["type"]) or "",
        id=text(event_id) or _number(event_id),
        actor=Actor(text(actor.get("login")), _number(actor.get("id")))
        if isinstance(actor, dict)
        else text(actor),
        repo=Repo(text(repo.get("name"))) if isinstance(repo, dict) else None,
        repository=(
            Repository(text(repository.get("owner")), text(repository.get("name")))
            if isinstance(repository, dict)
            else None
        ),
        url=text(value.get("url")),
        created_at=text(value.get("created_at")),
        payload=msgspec.Raw(b"" if payload is None else json.dumps(payload, sort_keys=True).encode()),
    )
