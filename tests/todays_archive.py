"""Days of an archive in today's format, made up: circles of people, organizations, a crowd, machines.

People act on the few they prefer within their circle, preferences that last, so that there is something to
learn; the crowd acts on anyone. No follows, trimmed payloads, ids from two counters, and files keyed by crawl
time: unsorted, with events of minutes before. The same world and hour give the same bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path

import numpy as np
from isal import isal_zlib

from pipeline.sources.gharchive.hours import file_name

TYPES = np.array(
    ["PushEvent", "IssueCommentEvent", "PullRequestEvent", "IssuesEvent", "WatchEvent", "CreateEvent"]
)
SHARES = np.array([0.55, 0.15, 0.1, 0.05, 0.1, 0.05])
MACHINES = ("ci-runner[bot]", "nightly-sync")  # one says so in its name, the other never sleeps
LATE_SECONDS = 600


@dataclass(frozen=True)
class World:
    """`people` in circles of `circle`, each with an organization; the `crowd` and machines make the rest."""

    people: int = 30
    circle: int = 10
    crowd: int = 200
    events: int = 1200  # of a day
    share: float = 0.55  # of the events that are the people's own
    seed: int = 0

    @cached_property
    def logins(self) -> np.ndarray:
        """Everyone who acts: people, then machines, then the crowd."""
        people = [f"Person-{number}" for number in range(self.people)]
        return np.array([*people, *MACHINES, *(f"passer{number}" for number in range(self.crowd))])

    @cached_property
    def owners(self) -> np.ndarray:
        """Everyone who is acted on: people, then organizations, then the crowd."""
        people = self.logins[: self.people].tolist()
        circles = -(-self.people // self.circle)
        organizations = [f"org{number}" for number in range(circles)]
        return np.array([*people, *organizations, *self.logins[self.people + len(MACHINES) :]])

    @cached_property
    def preferred(self) -> np.ndarray:
        """The owners that each person prefers, the most preferred first: (people, 4)."""
        random = np.random.default_rng([self.seed, 1])
        rows = []
        for person in range(self.people):
            circle = person // self.circle
            near = np.arange(circle * self.circle, min((circle + 1) * self.circle, self.people))
            near = np.append(near[near != person], self.people + circle)
            rows.append(np.resize(random.permutation(near), 4))
        return np.array(rows)


def hour_text(world: World, day: date, hour: int) -> bytes:
    """The events of an hour file, one a line."""
    random = np.random.default_rng([world.seed, day.toordinal(), hour])
    # People sleep; the crowd is everywhere.
    awake = 1.4 if 7 <= hour < 22 else 0.33
    count = max(1, round(world.events / 24 * awake))
    # a person, a machine, one of the crowd
    kind = random.choice(3, count, p=[world.share, 0.1, 0.9 - world.share])
    actor = np.select(
        [kind == 0, kind == 1],
        [random.integers(0, world.people, count), world.people + random.integers(0, len(MACHINES), count)],
        world.people + len(MACHINES) + random.integers(0, max(world.crowd, 1), count),
    )
    anyone = random.integers(0, len(world.owners), count)
    choice = random.choice(4, count, p=[0.55, 0.25, 0.15, 0.05])
    owner = np.where(
        (kind == 0) & (random.random(count) < 0.95), world.preferred[actor % world.people, choice], anyone
    )
    owner = np.where(
        (kind == 1) & (random.random(count) < 0.9), random.integers(0, world.people, count), owner
    )
    types = TYPES[random.choice(len(TYPES), count, p=SHARES)]
    late = (random.random(count) < 0.02) * LATE_SECONDS
    seconds = random.integers(0, 3600, count) - late
    begin = datetime(day.year, day.month, day.day, hour)
    number = (day.toordinal() * 24 + hour) * 10_000_000
    lines = []
    for at, (who, whom, type_, second) in enumerate(
        zip(
            world.logins[actor].tolist(),
            world.owners[owner].tolist(),
            types.tolist(),
            seconds.tolist(),
            strict=True,
        )
    ):
        moment = (begin + timedelta(seconds=second)).isoformat()
        lines.append(
            f'{{"id":"{number + at}","type":"{type_}","actor":{{"id":{1000 + at % 9973},"login":"{who}",'
            f'"display_login":"{who}","gravatar_id":"","url":"https://api.github.com/users/{who}",'
            f'"avatar_url":""}},"repo":{{"id":{at},"name":"{whom}/tool",'
            f'"url":"https://api.github.com/repos/{whom}/tool"}},"payload":{{"repository_id":{at},'
            f'"push_id":{number},"ref":"refs/heads/main"}},"public":true,"created_at":"{moment}Z"}}\n'
        )
    return "".join(lines).encode()


def hour_file(world: World, day: date, hour: int) -> bytes:
    """The hour as published: gzip, the same bytes each time."""
    packer = isal_zlib.compressobj(1, wbits=31)
    return packer.compress(hour_text(world, day, hour)) + packer.flush()


def write_days(
    folder: Path, world: World, days: Iterable[date], without: frozenset[str] = frozenset()
) -> None:
    """Publish all hours of `days` in a folder, but those named in `without`."""
    folder.mkdir(parents=True, exist_ok=True)
    for day in days:
        for hour in range(24):
            name = file_name(day, hour)
            if name not in without:
                (folder / name).write_bytes(hour_file(world, day, hour))
