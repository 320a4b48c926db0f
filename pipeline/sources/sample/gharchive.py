"""The sample world as GH Archive hour files, with damage: 2013's shape until 2014, 2015's afterwards."""

import gzip
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.sources.sample.world import World, bounds_of

PACIFIC = timedelta(hours=-8)  # the wall clock of file names and times up to the end of 2014, in winter
FIRST_DAY, LAST_DAY = date(2014, 12, 19), date(2015, 1, 11)  # file days
UTC_SINCE = datetime(2015, 1, 1)  # files and times are in UTC from here on
MISSING_HOUR = "2014-12-27-4"
BOTS = ("travis-ci", "coverage-robot[bot]", "dependency-bot[bot]")
OUTSIDERS = 40

COMMUNICATIONS = {
    "PushEvent": 0.30,
    "IssueCommentEvent": 0.25,
    "IssuesEvent": 0.12,
    "PullRequestEvent": 0.12,
    "WatchEvent": 0.10,
    "CommitCommentEvent": 0.06,
    "ForkEvent": 0.05,
}
UNRULED = {"CreateEvent": 0.6, "DeleteEvent": 0.15, "GollumEvent": 0.15, "GistEvent": 0.1}
FIRST_SYLLABLES = (
    "al",
    "bru",
    "cas",
    "dor",
    "el",
    "fen",
    "gal",
    "hol",
    "is",
    "jun",
    "kor",
    "lum",
    "mar",
    "nel",
)
LAST_SYLLABLES = (
    "ander",
    "bek",
    "cott",
    "dahl",
    "elin",
    "forth",
    "grim",
    "ivar",
    "kvist",
    "lund",
    "mor",
    "nor",
)
REPOSITORIES = ("compiler", "dotfiles", "engine", "maps", "notes", "parser", "solver", "site")


class Happening(NamedTuple):
    """One event before it is written in either shape."""

    at: datetime  # naive UTC
    type: str
    actor: str
    counterpart: str  # owner of the repository, or target of an association event


def logins(world: World) -> list[str]:
    """Return the login of each person of the world, by number."""
    return [login(person) for person in range(world.settings.people)]


def login(person: int) -> str:
    """Return an invented login, different for every number."""
    syllables = FIRST_SYLLABLES[person % 14] + LAST_SYLLABLES[(person // 14 + 5 * person) % 12]
    return f"{syllables}{person}"


def write_hour_files(world: World, folder: Path) -> dict[str, int]:
    """Write all hour files flat into a new `folder`, usable as the archive's address; count them."""
    first = datetime.combine(FIRST_DAY, time()) - PACIFIC
    last = datetime.combine(LAST_DAY, time()) + timedelta(days=1)
    if world.settings.start < first or world.settings.end > last:
        raise ValueError(
            f"a world written as hour files must lie between {first} and {last} UTC, "
            f"got {world.settings.start} to {world.settings.end}"
        )
    rng = np.random.Generator(np.random.PCG64([world.settings.seed, 1]))
    files = hour_files(happenings(world, rng), rng)
    folder.mkdir(parents=True)
    for name, lines in files.items():
        body = gzip.compress(b"".join(lines), compresslevel=6, mtime=0)
        (folder / f"{name}.json.gz").write_bytes(body)
    return {"files": len(files), "lines": sum(map(len, files.values()))}


def happenings(world: World, rng: np.random.Generator) -> list[Happening]:
    """Return all events of the archive before they are written, in order of time."""
    names = logins(world)
    outsiders = [login(world.settings.people + number) for number in range(OUTSIDERS)]
    start, interactions = world.settings.start, world.interactions

    def moment(second: float) -> datetime:
        return start + timedelta(seconds=int(second))

    def drawing(types: dict[str, float]) -> Callable[[], str]:
        listed, bounds = list(types), bounds_of(np.array(list(types.values())))
        return lambda: listed[bisect_right(bounds, rng.random())]

    def any_second() -> float:
        # A second near an existing interaction, so that all activity has the same rhythm.
        near = interactions.seconds[rng.integers(len(interactions))] + rng.normal(0, 1800)
        return min(max(float(near), 0.0), world.settings.seconds - 1)

    communication, unruled = drawing(COMMUNICATIONS), drawing(UNRULED)
    happened = [
        Happening(moment(second), communication(), names[u], names[v]) for second, u, v in interactions
    ]
    happened += [
        Happening(moment(second), "Association", names[u], names[v]) for second, u, v in world.declarations
    ]
    # People work in their own repositories about as much as in others'.
    for person in rng.choice(interactions.source, len(interactions)).tolist():
        happened.append(Happening(moment(any_second()), communication(), names[person], names[person]))
    for person in rng.choice(interactions.source, len(interactions) // 4).tolist():
        happened.append(Happening(moment(any_second()), unruled(), names[person], names[person]))
    for outsider in outsiders:
        for _ in range(rng.integers(2, 12)):
            member = names[rng.integers(len(names))]
            happened.append(Happening(moment(any_second()), communication(), outsider, member))
        for _ in range(rng.integers(0, 2)):
            member = names[rng.integers(len(names))]
            happened.append(Happening(moment(any_second()), "Association", outsider, member))
    # Bots take turns, one every hour of day and night.
    for turn in range(int(world.settings.seconds // 3600)):
        member = names[rng.integers(len(names))]
        second = turn * 3600 + rng.uniform(0, 3600)
        happened.append(Happening(moment(second), "IssueCommentEvent", BOTS[turn % len(BOTS)], member))
    return sorted(happened)


def hour_files(happened: list[Happening], rng: np.random.Generator) -> dict[str, list[bytes]]:
    """Sort events into hour files, write each in its file's shape, then damage a few lines.

    Between midnight in UTC and midnight in California both of the archive's collectors run; each event of
    those hours is in the files of one of them.
    """
    files: dict[str, list[bytes]] = {name: [] for name in sample_hours() if name != MISSING_HOUR}
    for number, happening in enumerate(happened):
        both = UTC_SINCE <= happening.at < UTC_SINCE - PACIFIC
        if happening.at < UTC_SINCE or (both and number % 2):
            clock, event = happening.at + PACIFIC, shape_b2(happening, number, rng)
        else:
            clock, event = happening.at, shape_c(happening, number, rng)
        name = f"{clock:%Y-%m-%d}-{clock.hour}"
        if name != MISSING_HOUR:
            files[name].append(json.dumps(event, separators=(",", ":")).encode() + b"\n")
    damage(files, rng)
    return files


def sample_hours() -> Iterator[str]:
    """Yield the names of all hours of the sample's file days, in order."""
    for day in range((LAST_DAY - FIRST_DAY).days + 1):
        for hour in range(24):
            yield f"{FIRST_DAY + timedelta(days=day)}-{hour}"


def damage(files: dict[str, list[bytes]], rng: np.random.Generator) -> None:
    """Damage a few files in place, as seen in the real archive."""
    names = list(files)
    fit = [name for name in names if len(files[name]) >= 6]
    untouched = iter([fit[at] for at in rng.permutation(len(fit)).tolist()])

    def victims(count: int) -> list[str]:
        return list(islice(untouched, count))

    for name in victims(5):  # two events joined on one line
        lines = files[name]
        lines[1:3] = [lines[1].rstrip(b"\n") + lines[2]]
    for name in victims(4):  # an event cut mid-string and joined to the next
        lines = files[name]
        lines[2:4] = [lines[2][: lines[2].index(b"https://") + 14] + lines[3]]
    for name in victims(3):  # a truncated last line
        files[name][-1] = files[name][-1][:-40]
    for name in victims(3):  # a run of NUL bytes between two events
        files[name][1] = b"\0" * 512 + files[name][1]
    for name in victims(6):  # bytes that are not UTF-8 within a string
        files[name][0] = files[name][0].replace(b"https://", b"https://\xff\xfe", 1)
    for name in victims(8):  # the same event twice in one file
        files[name].insert(3, files[name][1])
    for name in victims(8):  # the last event of an hour again in the next file
        following = names[min(names.index(name) + 1, len(names) - 1)]
        files[following].insert(0, files[name][-1])
    for name in victims(2):  # events without content
        files[name].append(
            b'{"created_at":"2014-12-31T00:00:00-08:00","public":true,"type":"Event","actor":null}\n'
        )


def repository_of(owner: str, number: int) -> tuple[int, str]:
    """Return the id and name of one of an owner's repositories."""
    key = sum(owner.encode()) * 31 + len(owner)
    name = REPOSITORIES[(key + number % 3) % len(REPOSITORIES)]
    return 10_000 + key * 10 + number % 3, name


def spelled(name: str, number: int) -> str:
    """Return the login, capitalized for some numbers: logins compare case-insensitively."""
    return name.capitalize() if number % 61 == 0 else name


def commit_digest(rng: np.random.Generator) -> str:
    """Return forty random hexadecimal digits, like a commit's hash."""
    return rng.bytes(20).hex()


def person_id(name: str) -> int:
    """Return a stable account number of a login."""
    return 1_000 + sum((place + 1) * 131 * letter for place, letter in enumerate(name.encode()))


def shape_b2(happening: Happening, number: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the event as written from late 2012 to 2014: no id, `actor` a string, Pacific times."""
    at, kind, actor, counterpart = happening
    kind = "FollowEvent" if kind == "Association" else kind
    owner = spelled(counterpart, number)
    repository_id, name = repository_of(counterpart, number)
    home = f"https://github.com/{owner}/{name}"
    payload, url = payload_b2(kind, number, owner, home, rng)
    event: dict[str, Any] = {
        "created_at": f"{at + PACIFIC:%Y-%m-%dT%H:%M:%S}-08:00",
        "payload": payload,
        "public": True,
        "type": kind,
        "url": f"https://github.com/{actor}/{name}" if kind == "ForkEvent" else url,
        "actor": actor,
        "actor_attributes": {"login": actor, "type": "User", "gravatar_id": commit_digest(rng)[:32]},
    }
    if kind not in ("FollowEvent", "GistEvent"):
        event["repository"] = {
            "id": repository_id,
            "name": name,
            "url": home,
            "description": "",
            "watchers": number % 40,
            "stargazers": number % 40,
            "forks": number % 7,
            "fork": False,
            "size": 120 + number % 900,
            "owner": owner,
            "private": False,
            "open_issues": number % 5,
            "has_issues": True,
            "has_downloads": True,
            "has_wiki": True,
            "created_at": "2013-05-02T09:24:29-07:00",
            "pushed_at": f"{at + PACIFIC:%Y-%m-%dT%H:%M:%S}-08:00",
            "master_branch": "master",
        }
    return event


def payload_b2(
    kind: str, number: int, owner: str, home: str, rng: np.random.Generator
) -> tuple[dict[str, Any], str]:
    """Return the payload and URL of an event up to 2014: an issue or a comment is only a number."""
    match kind:
        case "FollowEvent":
            target = {"id": person_id(owner.lower()), "login": owner, "followers": number % 90, "repos": 3}
            return {
                "target": target | {"gravatar_id": commit_digest(rng)[:32]}
            }, f"https://github.com/{owner}"
        case "PushEvent":
            head = commit_digest(rng)
            commit = [head, "", "Tidy up", "Somebody", True]
            return (
                {"shas": [commit], "size": 1, "ref": "refs/heads/master", "head": head},
                f"{home}/compare/{commit_digest(rng)[:10]}...{head[:10]}",
            )
        case "IssuesEvent":
            return {
                "action": "opened",
                "issue": 50_000 + number,
                "number": number % 99,
            }, f"{home}/issues/{number % 99}"
        case "IssueCommentEvent":
            ids = {"issue_id": 50_000 + number, "comment_id": 90_000 + number}
            return ids, f"{home}/issues/{number % 99}#issuecomment-{90_000 + number}"
        case "CommitCommentEvent":
            commit = commit_digest(rng)
            return {
                "commit": commit,
                "comment_id": 70_000 + number,
            }, f"{home}/commit/{commit}#commitcomment-{number}"
        case "PullRequestEvent":
            return pull_request(number, home), f"{home}/pull/{number % 99}"
        case "WatchEvent":
            return {"action": "started"}, home
        case "CreateEvent":
            reference = {"ref": f"topic-{number}", "ref_type": "branch", "master_branch": "master"}
            return reference | {"description": ""}, f"{home}/compare/topic-{number}"
        case "DeleteEvent":
            return {"ref": f"topic-{number}", "ref_type": "branch"}, "https://github.com/"
        case "GollumEvent":
            return wiki_edit(home, rng), f"{home}/wiki/Home"
        case "GistEvent":
            gist = f"https://gist.github.com/{number}"
            return {
                "id": number,
                "url": gist,
                "name": f"gist: {number}",
                "desc": "",
                "action": "create",
            }, gist
        case _:
            return {}, home


def pull_request(number: int, home: str) -> dict[str, Any]:
    """Return the payload of a pull request, the same in both shapes."""
    return {
        "action": "opened",
        "number": number % 99,
        "pull_request": {
            "id": 60_000 + number,
            "html_url": f"{home}/pull/{number % 99}",
            "number": number % 99,
            "state": "open",
            "title": "",
            "body": "",
            "merged": False,
            "commits": 1,
        },
    }


def wiki_edit(home: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return the payload of a page edit in the wiki of the repository at `home`."""
    page = {
        "page_name": "Home",
        "title": "Home",
        "summary": None,
        "action": "edited",
        "sha": commit_digest(rng),
    }
    return {"pages": [page | {"html_url": f"{home}/wiki/Home"}]}


def shape_c(happening: Happening, number: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the event as written since 2015: an id, `actor` and `repo` objects, times in UTC; no follows."""
    at, kind, actor, counterpart = happening
    is_member = kind == "Association"
    owner = actor if is_member else spelled(counterpart, number)
    repository_id, name = repository_of(owner.lower(), number)
    full_name = f"{owner}/{name}"
    return {
        "id": str(2_489_368_000 + number),
        "type": "MemberEvent" if is_member else "GollumEvent" if kind == "GistEvent" else kind,
        "actor": {
            "id": person_id(actor),
            "login": actor,
            "gravatar_id": "",
            "url": f"https://api.github.com/users/{actor}",
            "avatar_url": f"https://avatars.githubusercontent.com/u/{person_id(actor)}?",
        },
        "repo": {"id": repository_id, "name": full_name, "url": f"https://api.github.com/repos/{full_name}"},
        "payload": payload_c(kind, number, at.replace(tzinfo=UTC), counterpart, full_name, rng),
        "public": True,
        "created_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
    }


def payload_c(
    kind: str, number: int, at: datetime, counterpart: str, full_name: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the payload of an event since 2015: an issue or a comment is an object."""
    stamp, home = f"{at:%Y-%m-%dT%H:%M:%SZ}", f"https://github.com/{full_name}"
    comment = {"id": 90_000 + number, "body": "", "created_at": stamp, "updated_at": stamp}
    issue = {
        "id": 50_000 + number,
        "number": number % 99,
        "title": "",
        "state": "open",
        "html_url": f"{home}/issues/{number % 99}",
    }
    match kind:
        case "Association":
            member = {"login": counterpart, "id": person_id(counterpart), "type": "User", "site_admin": False}
            return {"member": member, "action": "added"}
        case "PushEvent":
            head = commit_digest(rng)
            author = {"email": "", "name": "Somebody"}
            commit = {"sha": head, "author": author, "message": "Tidy up", "distinct": True}
            sizes = {
                "push_id": 536_740_000 + number,
                "size": 1,
                "distinct_size": 1,
                "ref": "refs/heads/master",
            }
            return sizes | {"head": head, "before": commit_digest(rng), "commits": [commit]}
        case "IssuesEvent":
            return {"action": "opened", "issue": issue}
        case "IssueCommentEvent":
            return {"action": "created", "issue": issue, "comment": comment}
        case "CommitCommentEvent":
            return {"comment": comment | {"commit_id": commit_digest(rng), "path": None, "line": None}}
        case "PullRequestEvent":
            return pull_request(number, home)
        case "ForkEvent":
            name = full_name.split("/")[1]
            return {"forkee": {"id": 80_000 + number, "name": name, "fork": True, "private": False}}
        case "WatchEvent":
            return {"action": "started"}
        case "GollumEvent" | "GistEvent":
            return wiki_edit(home, rng)
        case "DeleteEvent":
            return {"ref": f"topic-{number}", "ref_type": "branch", "pusher_type": "user"}
        case _:
            reference = {"ref": f"topic-{number}", "ref_type": "branch", "master_branch": "master"}
            return reference | {"description": "", "pusher_type": "user"}
