"""A simulated world with a known hidden graph: a multivariate Hawkes process on planted ties."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

WITHIN_COMMUNITY, ACROSS_COMMUNITIES, WITH_HUB = 0.42, 0.015, 0.22  # chance that a pair is planted
LEAST_TIES = 4  # minimum number of ties per person, as far as the community allows
HUB_STRENGTH = 2.0  # factor on the strength of a hub's ties
SOCIABILITY = 1.0  # σ of the log-normal distribution of people's activity

# Relative activity by hour of day (a night, a dip at lunch, an evening) and by weekday from Monday.
HOURS = np.array([3, 2, 1, 1, 1, 1, 2, 4, 7, 10, 11, 10, 8, 10, 11, 11, 10, 9, 8, 8, 9, 9, 7, 5]) / 7.0
WEEKDAYS = np.array([1.1, 1.2, 1.2, 1.15, 1.05, 0.6, 0.7])


@dataclass(frozen=True)
class WorldSettings:
    """Parameters of a world; the same settings make the same world, bit for bit."""

    seed: int
    people: int
    communities: int
    hubs: int
    start: datetime  # naive, on the clock the world's people live by
    end: datetime
    interactions: int  # expected number, noise included
    memory_hours: float = 2.0  # mean delay between an interaction and one that it excites
    reply: float = 0.30  # expected number of direct replies v→u to an interaction u→v
    repeat: float = 0.10  # … of repetitions u→v
    spread: float = 0.20  # … of interactions of u or v with another planted neighbour
    noise: float = 0.01  # share of interactions between pairs that are not planted
    forming: float = 0.20  # share of ties that form within the period
    dissolving: float = 0.15  # share of ties that dissolve within it
    declared: float = 0.70  # chance that one end of a planted tie ever declares it
    misdeclared: float = 0.10  # declarations of ties that are not planted, as a share of the true ones

    def __post_init__(self) -> None:
        if self.communities < 1 or self.people < (LEAST_TIES + 1) * self.communities:
            raise ValueError(
                f"people must be at least {LEAST_TIES + 1} for each of the communities (≥ 1), "
                f"got people={self.people}, communities={self.communities}"
            )
        if not 0 <= self.hubs <= self.people:
            raise ValueError(f"hubs must be between 0 and people={self.people}, got {self.hubs}")
        if self.start >= self.end:
            raise ValueError(f"start must come before end, got {self.start} and {self.end}")
        if self.interactions < 1:
            raise ValueError(f"interactions must be positive, got {self.interactions}")
        if self.memory_hours <= 0:
            raise ValueError(f"memory_hours must be positive, got {self.memory_hours}")
        for name in (
            "reply",
            "repeat",
            "spread",
            "noise",
            "forming",
            "dissolving",
            "declared",
            "misdeclared",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.branching >= 1:
            raise ValueError(
                f"reply + repeat + spread must stay below 1, or interactions never end: got {self.branching}"
            )

    @property
    def branching(self) -> float:
        """Mean number of interactions that one interaction excites directly."""
        return self.reply + self.repeat + self.spread

    @property
    def seconds(self) -> float:
        """Length of the period."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True)
class Ties:
    """The planted graph through time: undirected ties (u < v), each alive from `formed` to `dissolved`."""

    u: np.ndarray  # (T,)
    v: np.ndarray  # (T,)
    strength: np.ndarray  # (T,) mean 1
    formed: np.ndarray  # (T,) seconds since the world's start; negative: older than the world
    dissolved: np.ndarray  # (T,) infinite: outlives it

    def __len__(self) -> int:
        return len(self.u)


@dataclass(frozen=True)
class Stream:
    """Directed events by time (whole seconds since the world's start), and whether a tie carries each."""

    seconds: np.ndarray  # (E,)
    source: np.ndarray  # (E,)
    target: np.ndarray  # (E,)
    planted: np.ndarray  # (E,) bool

    def __len__(self) -> int:
        return len(self.seconds)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.seconds.tolist(), self.source.tolist(), self.target.tolist(), strict=True)


@dataclass(frozen=True)
class World:
    """A simulated world: communities, hubs, ties, interactions and declarations of ties."""

    settings: WorldSettings
    community: np.ndarray  # (N,)
    hubs: np.ndarray  # (H,)
    ties: Ties
    interactions: Stream
    declarations: Stream

    def planted(self, at: datetime) -> list[tuple[int, int]]:
        """Return the pairs (u < v) tied at a moment, sorted."""
        second = (at - self.settings.start).total_seconds()
        alive = (self.ties.formed <= second) & (second < self.ties.dissolved)
        return sorted(zip(self.ties.u[alive].tolist(), self.ties.v[alive].tolist(), strict=True))


class Rhythm:
    """The activity clock, a monotone change of time that runs fast by day and slowly by night.

    A process homogeneous on this clock has a daily and weekly rhythm on the wall clock; order is kept.
    """

    def __init__(self, start: datetime, seconds: float) -> None:
        hours = int(np.ceil(seconds / 3600))
        of_day = (start.hour + np.arange(hours)) % 24
        of_week = (start.weekday() + (start.hour + np.arange(hours)) // 24) % 7
        self.wall = np.arange(hours + 1) * 3600.0
        self.activity = np.concatenate([[0.0], np.cumsum(HOURS[of_day] * WEEKDAYS[of_week] * 3600)])

    @property
    def length(self) -> float:
        """The period's length on the activity clock."""
        return float(self.activity[-1])

    def to_wall(self, activity: np.ndarray) -> np.ndarray:
        """Convert moments on the activity clock to wall-clock seconds."""
        return np.interp(activity, self.activity, self.wall)

    def from_wall(self, wall: np.ndarray) -> np.ndarray:
        """Convert wall-clock seconds to moments on the activity clock; ±inf outside the period."""
        inside = np.interp(wall, self.wall, self.activity)
        return np.where(wall < 0, -np.inf, np.where(wall >= self.wall[-1], np.inf, inside))


def simulate(settings: WorldSettings) -> World:
    """Simulate a world: draw its ties, its interactions and its declarations."""
    rng = np.random.Generator(np.random.PCG64(settings.seed))
    community = np.arange(settings.people) % settings.communities
    hubs = np.sort(rng.choice(settings.people, settings.hubs, replace=False))
    ties = plant(settings, community, hubs, rng)
    rhythm = Rhythm(settings.start, settings.seconds)
    return World(
        settings, community, hubs, ties, interact(settings, ties, rhythm, rng), declare(settings, ties, rng)
    )


def plant(settings: WorldSettings, community: np.ndarray, hubs: np.ndarray, rng: np.random.Generator) -> Ties:
    """Draw ties: dense within communities, sparse across, hubs tied to any; and their strengths."""
    people = settings.people
    chance = np.where(
        community[:, None] == community[None, :], WITHIN_COMMUNITY, ACROSS_COMMUNITIES
    )  # (N, N)
    chance[hubs, :] = np.maximum(chance[hubs, :], WITH_HUB)
    chance[:, hubs] = np.maximum(chance[:, hubs], WITH_HUB)
    tied = np.triu(rng.random((people, people)) < chance, 1)
    tied |= tied.T
    for person in range(people):
        strangers = np.flatnonzero((community == community[person]) & ~tied[person])
        strangers = strangers[strangers != person]
        missing = min(LEAST_TIES - int(tied[person].sum()), len(strangers))
        if missing > 0:
            friends = rng.choice(strangers, missing, replace=False)
            tied[person, friends] = tied[friends, person] = True
    u, v = np.nonzero(np.triu(tied))
    strength = rng.gamma(1.2, size=len(u)) + 0.1
    strength *= np.where(np.isin(u, hubs) | np.isin(v, hubs), HUB_STRENGTH, 1.0)
    sociability = rng.lognormal(sigma=SOCIABILITY, size=people)
    strength *= sociability[u] * sociability[v]
    forms = rng.random(len(u)) < settings.forming
    dissolves = ~forms & (rng.random(len(u)) < settings.dissolving)
    formed = np.where(forms, rng.uniform(0.15, 0.90, len(u)) * settings.seconds, -1.0)
    dissolved = np.where(dissolves, rng.uniform(0.25, 0.85, len(u)) * settings.seconds, np.inf)
    return Ties(u, v, strength / strength.mean(), formed, dissolved)


def interact(settings: WorldSettings, ties: Ties, rhythm: Rhythm, rng: np.random.Generator) -> Stream:
    """Simulate a multivariate Hawkes process on the ties, by clusters, plus noise between pairs not tied.

    Each tie starts conversations at a constant rate; every interaction then excites replies, repetitions and
    interactions with other planted neighbours, each after an exponential delay, and those excite in turn.
    """
    formed, dissolved = rhythm.from_wall(ties.formed), rhythm.from_wall(ties.dissolved)
    begin, finish = np.maximum(formed, 0.0), np.minimum(dissolved, rhythm.length)
    weight = ties.strength * (finish - begin)
    conversations = settings.interactions * (1 - settings.noise) * (1 - settings.branching)
    counts = rng.poisson(conversations * weight / weight.sum())
    tie = np.repeat(np.arange(len(ties)), counts)
    turned = (
        rng.random(len(tie)) < rng.beta(2, 2, len(ties))[tie]
    )  # one end of a tie is the more outgoing one
    moment = rng.uniform(begin[tie], finish[tie])

    neighbours = [
        np.flatnonzero((ties.u == person) | (ties.v == person)) for person in range(settings.people)
    ]
    waiting = list(zip(moment.tolist(), tie.tolist(), turned.tolist(), strict=True))
    lived: list[tuple[float, int, bool]] = []
    shares: dict[tuple[int, int], tuple[list[int], list[float]]] = {}  # of a person's ties but the one in use

    def shares_of(person: int, carrier: int) -> tuple[list[int], list[float]]:
        if (person, carrier) not in shares:
            others = neighbours[person][neighbours[person] != carrier]
            strength = ties.strength[others]
            shares[person, carrier] = others.tolist(), bounds_of(strength / strength.sum())
        return shares[person, carrier]

    excitation = np.array([settings.reply, settings.repeat, settings.spread])
    memory = settings.memory_hours * 3600
    while waiting:
        now, carrier, is_turned = waiting.pop()
        if not formed[carrier] <= now < min(dissolved[carrier], rhythm.length):
            continue
        lived.append((now, carrier, is_turned))
        replies, repeats, spreads = rng.poisson(excitation)
        waiting += [(now + delay, carrier, not is_turned) for delay in rng.exponential(memory, replies)]
        waiting += [(now + delay, carrier, is_turned) for delay in rng.exponential(memory, repeats)]
        for delay in rng.exponential(memory, spreads):
            person = int(ties.u[carrier] if rng.random() < 0.5 else ties.v[carrier])
            others, bounds = shares_of(person, carrier)
            if others:
                chosen = others[bisect_right(bounds, rng.random())]
                waiting.append((now + delay, chosen, bool(ties.u[chosen] != person)))

    moments = np.array([now for now, _, _ in lived])
    tie = np.array([carrier for _, carrier, _ in lived], dtype=np.int64)
    turned = np.array([is_turned for _, _, is_turned in lived], dtype=bool)
    source, target = np.where(turned, ties.v[tie], ties.u[tie]), np.where(turned, ties.u[tie], ties.v[tie])
    noise = int(rng.poisson(settings.interactions * settings.noise))
    stranger_u, stranger_v = unplanted(settings, ties, noise, rng)
    return stream_in_time(
        rhythm.to_wall(np.concatenate([moments, rng.uniform(0, rhythm.length, noise)])),
        np.concatenate([source, stranger_u]),
        np.concatenate([target, stranger_v]),
        np.arange(len(source) + noise) < len(source),
    )


def bounds_of(chances: np.ndarray) -> list[float]:
    """Return the cumulative chances, normalized to 1, that `rng.choice` would use, bit for bit.

    `rng.choice` computes them again for every draw, which would take most of the simulation's time.
    """
    sums = chances.cumsum()
    return (sums / sums[-1:]).tolist()


def declare(settings: WorldSettings, ties: Ties, rng: np.random.Generator) -> Stream:
    """Draw declarations of ties: an imperfect view of the planted graph.

    Each end of a tie declares it or never does. A tie older than the world is declared at any time, rather
    early than late; one that forms is mostly declared within a day. Some declared ties are not planted.
    """
    u, v = np.concatenate([ties.u, ties.v]), np.concatenate([ties.v, ties.u])
    formed = np.concatenate([ties.formed, ties.formed])
    late = np.where(
        formed < 0, settings.seconds * rng.beta(1.0, 1.3, len(u)), rng.exponential(86_400, len(u))
    )
    moment = np.maximum(formed, 0) + late
    declared = (rng.random(len(u)) < settings.declared) & (moment < settings.seconds)
    wrong = int(rng.poisson(settings.misdeclared * declared.sum()))
    stranger_u, stranger_v = unplanted(settings, ties, wrong, rng)
    return stream_in_time(
        np.concatenate([moment[declared], rng.uniform(0, settings.seconds, wrong)]),
        np.concatenate([u[declared], stranger_u]),
        np.concatenate([v[declared], stranger_v]),
        np.arange(declared.sum() + wrong) < declared.sum(),
    )


def unplanted(
    settings: WorldSettings, ties: Ties, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `count` directed pairs that are never tied."""
    free = ~np.eye(settings.people, dtype=bool)
    free[ties.u, ties.v] = free[ties.v, ties.u] = False
    source, target = np.nonzero(free)
    chosen = rng.integers(0, len(source), count)
    return source[chosen], target[chosen]


def stream_in_time(
    seconds: np.ndarray, source: np.ndarray, target: np.ndarray, planted: np.ndarray
) -> Stream:
    """Sort events by time and floor times to whole seconds, as the sources record them."""
    order = np.argsort(seconds, kind="stable")
    return Stream(np.floor(seconds[order]).astype(np.int64), source[order], target[order], planted[order])


def planted_graph(world: World, at: datetime, name: Callable[[int], str]) -> pl.DataFrame:
    """Return the planted graph at a moment, one row per direction, by the names that event tables use."""
    pairs = [(name(u), name(v)) for u, v in world.planted(at)]
    both = sorted(pairs + [(v, u) for u, v in pairs])
    return pl.DataFrame(both, schema={"source": pl.String, "target": pl.String}, orient="row")
