"""Hour files made by hand: invented events of every shape, and ways to store them."""

import gzip
import json
from pathlib import Path

PUSH = "PushEvent"


def modern(number, type_=PUSH, actor="ann", repo="bob/tool", created_at="2015-01-01T00:00:01Z", **more):
    """An event of shape C or D."""
    return {
        "id": str(number),
        "type": type_,
        "actor": {"id": 7, "login": actor, "url": ""},
        "repo": {"id": 8, "name": repo, "url": ""},
        "payload": {"size": 1, "commits": [{"message": 'wörds, "quotes" }{ and \\ slashes', "sha": "ab"}]},
        "public": True,
        "created_at": created_at,
    } | more


def second(type_=PUSH, actor="ann", owner="bob", name="tool", created_at="2013-02-15T00:00:39-08:00", **more):
    """An event of shape B."""
    return {
        "created_at": created_at,
        "payload": {"size": 1, "shas": [["ab", "", "words", ""]]},
        "public": True,
        "type": type_,
        "url": f"https://github.com/{owner or 'bob'}/{name}/compare/ab...cd",
        "actor": actor,
        "actor_attributes": {"login": actor, "type": "User"},
        "repository": {"id": 1, "name": name, "owner": owner, "url": f"https://github.com/{owner}/{name}"},
    } | more


def line(event):
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def lines(events):
    return b"".join(line(event) + b"\n" for event in events)


def store(path: Path, text: bytes) -> Path:
    """Store `text` as a gzip file, the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, 6, mtime=0))
    return path
