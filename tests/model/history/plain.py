"""Every statistic computed from its definition: plain Python over all earlier events, without state."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import cos, exp, inf, log, log1p, pi, sin

import numpy as np

from model.history.events import Events
from model.history.moment import LONG_AGO, PRIOR, REACH
from model.history.state import PATH_TAUS, SMOOTHING, TAU_NAMES, TAUS
from model.history.statistics import FURTHEST

DAY = 86_400.0
MONTH, SESSION = 30 * DAY, 6 * 3600.0


@dataclass(frozen=True)
class Event:
    u: int
    v: int
    kind: int
    tie: bool
    at: float


def since(seconds: float) -> float:
    return log1p(min(seconds / 60, LONG_AGO))


class Plain:
    """The past of a moment."""

    def __init__(self, events: Events, end: int, now: float) -> None:
        stream = events.stream
        self.now, self.nodes, self.types = now, stream.nodes, len(events.types)
        self.offsets = events.day_offset, events.week_offset
        self.past = [
            Event(
                int(stream.u[i]),
                int(stream.v[i]),
                int(events.type[i]),
                bool(stream.k[i] == 0),
                float(stream.seconds[i]),
            )
            for i in range(end)
        ]
        self.ties = {(int(u), int(v)): -inf for u, v in events.ties}
        self.ties |= {(e.u, e.v): e.at for e in self.past if e.tie}

    def faded(self, events: list[Event], tau: float) -> float:
        return sum(exp(-(self.now - e.at) / tau) for e in events)

    def between(self, a: int, b: int) -> list[Event]:
        return [e for e in self.past if (e.u, e.v) == (a, b)]

    def of(self, role: int, who: int) -> list[Event]:
        return [e for e in self.past if (e.u, e.v)[role] == who]

    def lane(self, who: int, lane: str) -> list[int]:
        """Partners of each event of a node: its targets, its actors, or both."""
        return [
            e.v if e.u == who else e.u
            for e in self.past
            if (lane != "in" and e.u == who) or (lane != "out" and e.v == who)
        ]

    def last(self, events: list[Event]) -> float:
        return events[-1].at if events else -inf

    def rank(self, who: int, partner: int, lane: str) -> float:
        met = list(dict.fromkeys(reversed(self.lane(who, lane))))
        return log1p(min(met.index(partner), FURTHEST) if partner in met else FURTHEST)

    def share(self, who: int, partner: int, lane: str, alpha: float) -> float:
        value = 0.0
        for met in self.lane(who, lane):
            value = value * (1 - alpha) + alpha * (met == partner)
        return log(value + 0.001)

    def new(self, role: int, who: int) -> list[Event]:
        """Events with a first-time partner in this direction."""
        return [e for e in self.of(role, who) if self.between(e.u, e.v)[0] == e]

    def type_share(self, role: int, who: int, tau: float, kind: int) -> float:
        events = self.of(role, who)
        return self.faded([e for e in events if e.kind == kind], tau) / (self.faded(events, tau) + PRIOR)

    def hour(self, at: float) -> int:
        return int((at + self.offsets[0]) % DAY // 3600)

    def weekday(self, at: float) -> int:
        return int((at + self.offsets[1]) % (7 * DAY) // DAY)

    def statistics(self, a: int, b: int) -> dict[str, float]:
        return {
            **self.pair(a, b),
            **self.shares(a, b),
            **self.pair_types(a, b),
            **self.node("a", 0, a),
            **self.node("b", 1, b),
            **self.node_types(a, b),
            **self.clock(a, b),
            **self.associations(a, b),
            **self.two_hops(a, b),
            **self.sequence("a", 0, a, b),
            **self.sequence("b", 1, b, a),
        }

    def pair(self, a: int, b: int) -> dict[str, float]:
        ways = {"ab": self.between(a, b), "ba": self.between(b, a)}
        counts = {
            f"count_{way}_{name}": log(self.faded(events, tau) + 0.01)
            for way, events in ways.items()
            for name, tau in zip(TAU_NAMES, TAUS, strict=True)
        }
        return {
            **counts,
            **{f"n_{way}": log1p(len(events)) for way, events in ways.items()},
            **{f"since_{way}": since(self.now - self.last(events)) for way, events in ways.items()},
            **{f"seen_{way}": float(bool(events)) for way, events in ways.items()},
            "rank_target": self.rank(a, b, "out"),
            "rank_actor": self.rank(b, a, "in"),
            "rank_of_b": self.rank(a, b, "all"),
            "rank_of_a": self.rank(b, a, "all"),
        }

    def shares(self, a: int, b: int) -> dict[str, float]:
        return {
            f"share_{name}_{lane}_{alpha}": self.share(who, partner, lane, alpha)
            for name, who, partner in (("b_in_a", a, b), ("a_in_b", b, a))
            for lane in ("out", "in", "all")
            for alpha in SMOOTHING
        }

    def pair_types(self, a: int, b: int) -> dict[str, float]:
        values = {}
        for way, events in (("ab", self.between(a, b)), ("ba", self.between(b, a))):
            counts = Counter(e.kind for e in events)
            for kind in range(self.types):
                values[f"type_{way}_{kind}"] = log1p(counts[kind])
                values[f"last_{way}_{kind}"] = float(bool(events) and events[-1].kind == kind)
        return values

    def node(self, name: str, role: int, who: int) -> dict[str, float]:
        events, others, new = self.of(role, who), self.of(1 - role, who), self.new(role, who)
        does, other = ("acts", "receives") if role == 0 else ("receives", "acts")
        values = {}
        for tau_name, tau in zip(TAU_NAMES, TAUS, strict=True):
            values[f"{does}_{tau_name}"] = log(self.faded(events, tau) + 0.01)
            values[f"new_{tau_name}"] = log(self.faded(new, tau) + 0.01)
            if tau_name in ("1h", "1d", "30d"):
                values[f"{other}_{tau_name}"] = log(self.faded(others, tau) + 0.01)
        gap = 0.0
        for before, after in pairwise(events):
            length = log1p((after.at - before.at) / 60)
            gap = gap + 0.1 * (length - gap) if gap > 0 else length
        partners = [{(e.u, e.v)[1 - side] for e in self.of(side, who)} for side in (role, 1 - role)]
        values |= {
            f"{does}_since": since(self.now - self.last(events)),
            f"{other}_since": since(self.now - self.last(others)),
            f"{does}_n": log1p(len(events)),
            f"{other}_n": log1p(len(others)),
            f"{does}_degree": log1p(len(partners[0])),
            f"{other}_degree": log1p(len(partners[1])),
            "new_rate": self.faded(new, MONTH) / (self.faded(events, MONTH) + 1),
            "gap": gap,
        }
        return {f"{name}_{statistic}": value for statistic, value in values.items()}

    def node_types(self, a: int, b: int) -> dict[str, float]:
        values = {"type_match": 0.0, "type_match_6h_30d": 0.0, "type_match_6h": 0.0}
        for kind in range(self.types):
            for name, role, who in (("a", 0, a), ("b", 1, b)):
                events = self.of(role, who)
                values[f"{name}_type_6h_{kind}"] = self.type_share(role, who, SESSION, kind)
                values[f"{name}_type_30d_{kind}"] = self.type_share(role, who, MONTH, kind)
                values[f"{name}_last_type_{kind}"] = float(bool(events) and events[-1].kind == kind)
            values["type_match"] += values[f"a_type_30d_{kind}"] * values[f"b_type_30d_{kind}"]
            values["type_match_6h_30d"] += values[f"a_type_6h_{kind}"] * values[f"b_type_30d_{kind}"]
            values["type_match_6h"] += values[f"a_type_6h_{kind}"] * values[f"b_type_6h_{kind}"]
        return values

    def clock(self, a: int, b: int) -> dict[str, float]:
        hour, weekday = self.hour(self.now), self.weekday(self.now)
        total = self.faded(self.past, MONTH) + 2

        def near(events: list[Event]) -> float:
            weights = {(hour + step) % 24: (1 - abs(step) / 4) / 4 for step in range(-3, 4)}
            return sum(
                weight * self.faded([e for e in events if self.hour(e.at) == there], MONTH)
                for there, weight in weights.items()
            )

        usual = near(self.past) / total + 0.001
        values = {}
        for name, role, who in (("a", 0, a), ("b", 1, b)):
            events = self.of(role, who)
            own = self.faded(events, MONTH) + 2
            same_hour = self.faded([e for e in events if self.hour(e.at) == hour], MONTH)
            same_day = self.faded([e for e in events if self.weekday(e.at) == weekday], MONTH)
            values[f"{name}_hour"] = log((same_hour + 2 * usual) / own)
            values[f"{name}_hours"] = log((near(events) + 2 * usual) / own)
            values[f"{name}_hours_own"] = values[f"{name}_hours"] - log(usual)
            values[f"{name}_weekday"] = log((same_day + 2 / 7) / own)
        return values | {
            "hour_sin": sin(2 * pi * hour / 24),
            "hour_cos": cos(2 * pi * hour / 24),
            "weekend": float(weekday >= 5),
            "all_1h": log(self.faded(self.past, 3600) + 0.01),
            "all_1d": log(self.faded(self.past, DAY) + 0.01),
            "all_since": since(self.now - self.last(self.past)),
        }

    def associations(self, a: int, b: int) -> dict[str, float]:
        return {
            "tie_ab": float((a, b) in self.ties),
            "tie_ba": float((b, a) in self.ties),
            "tie_ab_since": since(self.now - self.ties.get((a, b), -inf)),
            "tie_ba_since": since(self.now - self.ties.get((b, a), -inf)),
            "a_ties": log1p(sum(u == a for u, _ in self.ties)),
            "a_tied": log1p(sum(v == a for _, v in self.ties)),
            "b_tied": log1p(sum(v == b for _, v in self.ties)),
            "b_ties": log1p(sum(u == b for u, _ in self.ties)),
        }

    def two_hops(self, a: int, b: int) -> dict[str, float]:
        assert self.nodes < REACH  # every partner is within reach: sums over all of them
        values = {}
        tied = np.zeros((self.nodes, self.nodes))
        for u, v in self.ties:
            tied[u, v] = 1
        for at in range(len(TAUS) - PATH_TAUS, len(TAUS)):
            f = np.zeros((self.nodes, self.nodes))
            for e in self.past:
                f[e.u, e.v] += exp(-(self.now - e.at) / TAUS[at])
            p = f / (f.sum(1, keepdims=True) + PRIOR)
            q = f / (f.sum(0, keepdims=True) + PRIOR)
            paths = {
                "chain": p @ p,
                "alike_actors": p @ q.T @ p,
                "alike_targets": q @ p.T @ q,
                "shared_actor": q.T @ p,
                "shared_target": p @ q.T,
                "leads": tied @ p,
                "chain_received": p @ q,
                "leads_received": tied @ q,
                "fans_received": tied.T @ q,
            }
            values |= {f"{name}_{TAU_NAMES[at]}": log(path[a, b] + 0.0003) for name, path in paths.items()}
        acted = np.zeros((self.nodes, self.nodes))
        for e in self.past:
            acted[e.u, e.v] = 1
        values["tied_twice"] = log1p((tied @ tied)[a, b])
        values["common"] = log1p((acted @ acted)[a, b])
        return values

    def step_share(self, role: int, back: int, earlier: int | None, later: int) -> float:
        """Of what came `back` + 1 events after `earlier` for one node, or (`back` 2) next of all events."""
        if earlier is None:
            return 0.0
        after: list[tuple[int, float]] = []
        for number, e in enumerate(self.past):
            node, partner = (e.u, e.v) if role == 0 else (e.v, e.u)
            before = self.past[:number]
            if back == 2:
                partners = [(x.v if role == 0 else x.u) for x in before]
                lag = 1
            else:
                partners = [(x.u, x.v)[1 - role] for x in before if (x.u, x.v)[role] == node]
                lag = back + 1
            if len(partners) >= lag and partners[-lag] == earlier:
                after.append((partner, exp(-(self.now - e.at) / MONTH)))
        total = sum(weight for _, weight in after)
        return sum(weight for partner, weight in after if partner == later) / (total + PRIOR)

    def sequence(self, name: str, role: int, who: int, partner: int) -> dict[str, float]:
        met = [(e.u, e.v)[1 - role] for e in self.of(role, who)][::-1]
        recent = [met[back] if back < len(met) else None for back in range(3)]
        shares = [
            self.step_share(role, min(back, 1), earlier, partner) for back, earlier in enumerate(recent)
        ]
        latest = (self.past[-1].v if role == 0 else self.past[-1].u) if self.past else None
        values = {
            "next": log(shares[0] + 0.001),
            "again": float(recent[0] == partner),
            "next2": log(shares[1] + 0.001),
            "again2": float(recent[1] == partner),
            "next3": log(sum(share * 0.7**back for back, share in enumerate(shares)) + 0.001),
            "again3": float(sum(earlier == partner for earlier in recent)),
            "next_of_all": log(self.step_share(role, 2, latest, partner) + 0.001),
        }
        return {f"{statistic}_{name}": value for statistic, value in values.items()}
