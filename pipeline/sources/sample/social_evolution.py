"""The sample world as the Social Evolution zip: five files with their true columns, formats and quirks."""

import bz2
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np

from pipeline.sources.sample.world import World
from pipeline.sources.social_evolution.relations import BLOG, CLOSE_FRIEND, PHOTOS, POLITICAL, SOCIALIZE

SURVEYS = (
    date(2008, 9, 9),
    date(2008, 10, 19),
    date(2008, 12, 13),
    date(2009, 3, 5),
    date(2009, 4, 17),
    date(2009, 5, 18),
)
# By relation, the chance that a survey names a planted tie, another pair of a community, any other pair.
RELATIONS = {
    CLOSE_FRIEND: (0.70, 0.03, 0.002),
    SOCIALIZE: (0.75, 0.25, 0.02),
    POLITICAL: (0.45, 0.20, 0.04),
    PHOTOS: (0.75, 0.50, 0.15),
    BLOG: (0.60, 0.45, 0.18),
}
FORGOTTEN = 0.10  # chance that an answer in one survey is drawn independently of the others
KINDS, KIND_SHARES = ("proximity", "call", "sms"), (0.70, 0.18, 0.12)
YEARS = ("Freshman", "Sophomore", "Junior", "Senior", "GRT / Other")
FLOORS = ("f282.1", "f282.2", "f282.3", "f290.3", "f290.4")
NO_UTF8 = b'"\xff\xfe"'


def subject(person: int) -> str:
    """Return the id of a person of the world: subjects count from 1."""
    return str(person + 1)


def write_zip(world: World, path: Path) -> dict[str, int]:
    """Write the zip and count the rows of each of its files."""
    rng = np.random.Generator(np.random.PCG64([world.settings.seed, 2]))
    kinds = rng.choice(len(KINDS), len(world.interactions), p=KIND_SHARES)
    interactions_of = [
        [
            (second, u, v)
            for (second, u, v), kind in zip(world.interactions, kinds, strict=True)
            if kind == number
        ]
        for number in range(len(KINDS))
    ]
    rows = {
        "Calls.csv": calls(world, interactions_of[1], rng),
        "SMS.csv": messages(world, interactions_of[2], rng),
        "RelationshipsFromSurveys.csv": surveys(world, rng),
        "Subjects.csv": sample_subjects(world, rng),
        "Proximity.csv.bz2": proximity(world, interactions_of[0], rng),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in rows.items():
            body = b"\n".join(lines) + b"\n"
            entry = zipfile.ZipInfo(f"SocialEvolution/{name}", date_time=(2009, 7, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, bz2.compress(body) if name.endswith(".bz2") else body)
    return {name: len(lines) - 1 for name, lines in rows.items()}


def stamp(world: World, second: float) -> str:
    """Return local time as the files write it."""
    return f"{world.settings.start + timedelta(seconds=int(second)):%Y-%m-%d %H:%M:%S}"


def repeated(rows: list[bytes], share: float, rng: np.random.Generator) -> list[bytes]:
    """Return the rows with copies appended, so that `share` of all are exact duplicates."""
    copies = rng.choice(len(rows), round(len(rows) * share / (1 - share)))
    return rows + [rows[at] for at in copies.tolist()]


def shuffled(rows: list[bytes], rng: np.random.Generator) -> list[bytes]:
    """Return the rows in random order."""
    return [rows[at] for at in rng.permutation(len(rows)).tolist()]


def rows_in_time(rows: list[bytes], column: int) -> list[bytes]:
    """Return the rows sorted by the time in `column`."""
    return sorted(rows, key=lambda row: row.split(b",")[column])


def calls(world: World, interactions: list[tuple[int, int, int]], rng: np.random.Generator) -> list[bytes]:
    """Make unsorted rows, mostly to unknown people: self-loops, empty ids, negative durations, duplicates."""

    def row(user: str, second: float, other: str) -> bytes:
        duration = -int(rng.integers(1, 3600)) if rng.random() < 0.01 else int(rng.exponential(120))
        quoted = f'"{other}"' if other else ""
        return f'{user},{stamp(world, second)},{duration},{quoted},"0"'.encode()

    people, seconds = world.settings.people, world.settings.seconds
    rows = [row(subject(u), second, subject(v)) for second, u, v in interactions]
    rows += [
        row(subject(user), rng.uniform(0, seconds), "")
        for user in rng.integers(people, size=2 * len(interactions)).tolist()
    ]
    rows += [
        row(subject(user), rng.uniform(0, seconds), subject(user))
        for user in rng.integers(people, size=25).tolist()
    ]
    rows += [
        row("", rng.uniform(0, seconds), subject(user)) for user in rng.integers(people, size=15).tolist()
    ]
    header = b'"user_id","time_stamp","duration","dest_user_id_if_known","dest_phone_hash"'
    return [header, *shuffled(repeated(rows, 0.05, rng), rng)]


def messages(world: World, interactions: list[tuple[int, int, int]], rng: np.random.Generator) -> list[bytes]:
    """Make rows by time: 44 % duplicates; self-loops; clocks far behind; phone hashes that are not UTF-8."""

    def row(user: str, time: str, other: str) -> bytes:
        phone = NO_UTF8 if rng.random() < 0.01 else b'"0"'
        return f"{user},{time},{rng.integers(2)},{other},".encode() + phone

    people, seconds = world.settings.people, world.settings.seconds
    rows = [row(subject(u), stamp(world, second), subject(v)) for second, u, v in interactions]
    rows += [
        row(subject(user), stamp(world, rng.uniform(0, seconds)), "")
        for user in rng.integers(people, size=len(interactions)).tolist()
    ]
    rows += [
        row(subject(user), stamp(world, rng.uniform(0, seconds)), subject(user))
        for user in rng.integers(people, size=20).tolist()
    ]
    rows += [
        row(subject(user), f"{datetime(2008, 1, 1, 15, 0, 25)}", subject(0))
        for user in rng.integers(1, people, size=12).tolist()
    ]
    rows.append(row(subject(0), stamp(world, seconds / 2), "").rsplit(b",", 1)[0] + b"," + NO_UTF8)
    header = b'"user.id","time","incoming","dest.user.id.if.known","dest.phone.hash"'
    return [header, *rows_in_time(repeated(rows, 0.44, rng), 1)]


def proximity(
    world: World, interactions: list[tuple[int, int, int]], rng: np.random.Generator
) -> list[bytes]:
    """Make rows by time; prob2 is empty in a fifth of them, at most 0.8 if two merely share a building."""

    def row(user: str, other: str, second: float, prob2: str) -> bytes:
        return f"{user},{other},{stamp(world, second)},{prob2}".encode()

    people, seconds = world.settings.people, world.settings.seconds
    rows = [
        row(subject(u), subject(v), second, f"{rng.integers(801, 1000) / 1000:g}")
        for second, u, v in interactions
    ]
    passing = len(interactions)
    for _ in range(passing):
        u, v = (int(person) for person in rng.choice(people, 2, replace=False))
        prob2 = (
            "" if rng.random() < 0.45 else "0.8" if rng.random() < 0.1 else f"{rng.integers(0, 800) / 1000:g}"
        )
        rows.append(row(subject(u), subject(v), rng.uniform(0, seconds), prob2))
    rows += [
        row(subject(user), subject(user), rng.uniform(0, seconds), "0.95")
        for user in rng.integers(people, size=40).tolist()
    ]
    rows += [
        row(subject(user), "", rng.uniform(0, seconds), "0.9")
        for user in rng.integers(people, size=60).tolist()
    ]
    header = b'"user.id","remote.user.id.if.known","time","prob2"'
    return [header, *rows_in_time(repeated(rows, 0.03, rng), 2)]


def surveys(world: World, rng: np.random.Generator) -> list[bytes]:
    """Make the answers of six surveys, relation by relation; people name themselves now and then.

    A person's random draw about another stays from survey to survey, except for a few slips; ties change.
    """
    people = world.settings.people
    same = world.community[:, None] == world.community[None, :]  # (N, N)
    taste = {relation: rng.random((people, people)) for relation in RELATIONS}
    rows = [b'"id.A","id.B","relationship","survey.date"']
    for day in SURVEYS:
        planted = np.zeros((people, people), dtype=bool)
        for u, v in world.planted(datetime(day.year, day.month, day.day)):
            planted[u, v] = planted[v, u] = True
        for relation, (tied, neighbour, anybody) in RELATIONS.items():
            chance = np.where(planted, tied, np.where(same, neighbour, anybody))
            slips = rng.random((people, people)) < FORGOTTEN
            named = np.where(slips, rng.random((people, people)), taste[relation]) < chance
            np.fill_diagonal(named, rng.random(people) < 0.2)
            for a, b in np.argwhere(named).tolist():
                rows.append(f'{subject(a)},{subject(b)},"{relation}","{day}"'.encode())
    return rows


def sample_subjects(world: World, rng: np.random.Generator) -> list[bytes]:
    """Make school years and floors: a floor is mostly a community; some answers are empty."""
    rows = [b'"user_id","year_school","floor"']
    for person, community in enumerate(world.community.tolist()):
        moved = rng.random() < 0.15
        floor = FLOORS[(rng.integers(len(FLOORS)) if moved else community) % len(FLOORS)]
        year = YEARS[rng.integers(len(YEARS))]
        empty_year, empty_floor = rng.random(2) < 0.1
        year_text, floor_text = "" if empty_year else f'"{year}"', "" if empty_floor else f'"{floor}"'
        rows.append(f"{subject(person)},{year_text},{floor_text}".encode())
    return rows
