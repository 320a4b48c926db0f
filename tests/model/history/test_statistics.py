"""Statistics equal their definitions, know nothing of the future, and go on from a saved state."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.history.events import Events, load_events
from model.history.logarithm import logarithm
from model.history.reading import Pass
from model.history.registry import SCALES
from model.history.room import from_arrays, to_arrays
from model.history.standard import Standard
from model.history.statistics import BLOCKS
from model.history.update import FAR
from pipeline.lake import Lake
from pipeline.rem_variants import GROUPS, OWN
from tests.model.history.plain import Plain
from tests.small_world import store_table


@pytest.fixture(scope="module")
def history_events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    lake = Lake(tmp_path_factory.mktemp("history"))
    store_table(lake)
    return load_events(lake.dataset("toy"))


def everyone(events: Events, count: int) -> np.ndarray:
    return np.tile(np.arange(events.stream.nodes), (count, 2, 1))


def names(reading: Pass) -> list[str]:
    return [one.name for one in reading.statistics]


def spread_out(events: Events) -> Events:
    """The same events over years: fading sums pass where their reference is moved."""
    seconds = events.stream.seconds * 400
    assert seconds[-1] > 10 * FAR * 3600
    return replace(events, stream=replace(events.stream, seconds=seconds))


@pytest.mark.parametrize("stretched", [False, True])
def test_every_statistic_equals_its_definition_from_both_ends(
    history_events: Events, stretched: bool
) -> None:
    history_events = spread_out(history_events) if stretched else history_events
    stream, reading = history_events.stream, Pass(history_events)
    positions = np.array([0, 1, 7, 60, 151, 299])
    read = reading.read(len(stream), positions, everyone(history_events, len(positions))).x
    for row, event in enumerate(positions):
        plain = Plain(history_events, event, float(stream.seconds[event]))
        u, v = int(stream.u[event]), int(stream.v[event])
        for side, pairs in enumerate(
            ([(u, c) for c in range(stream.nodes)], [(c, v) for c in range(stream.nodes)])
        ):
            for other, (a, b) in enumerate(pairs):
                if a == b or (row + other) % 5:
                    continue
                expected = plain.statistics(a, b)
                actual = dict(zip(names(reading), read[row, side, other].tolist(), strict=True))
                assert actual.keys() == expected.keys()
                for name, value in expected.items():
                    assert actual[name] == pytest.approx(value, rel=2e-5, abs=2e-5), (name, event, a, b)


def test_what_comes_later_changes_no_bit(history_events: Events) -> None:
    stream = history_events.stream
    random = np.random.default_rng(3)
    for cut in (1, 50, 151):
        u = np.concatenate([stream.u[:cut], random.integers(0, 7, len(stream) - cut)])
        v = np.concatenate([stream.v[:cut], random.integers(7, 15, len(stream) - cut)])
        later = np.concatenate([stream.seconds[: cut + 1], stream.seconds[cut + 1 :] + 1e6])
        other = replace(
            history_events,
            stream=replace(stream, u=u, v=v, seconds=later),
            type=np.concatenate([history_events.type[:cut], history_events.type[cut:][::-1]]),
        )
        positions = np.arange(cut + 1)
        before = Pass(history_events).read(len(stream), positions, everyone(history_events, len(positions))).x
        after = Pass(other).read(len(stream), positions, everyone(history_events, len(positions))).x
        np.testing.assert_array_equal(before[:cut], after[:cut])
        moment = float(stream.seconds[cut])
        readings = [Pass(which) for which in (history_events, other)]
        for reading in readings:
            reading.skip(cut)
        np.testing.assert_array_equal(readings[0].ask(3, moment).x, readings[1].ask(3, moment).x)


@pytest.mark.parametrize("by_role", [True, False])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(history_events: Events, by_role: bool) -> None:
    stream = history_events.stream
    positions = np.arange(150, len(stream))
    whole = (
        Pass(history_events, by_role=by_role)
        .read(len(stream), positions, everyone(history_events, len(positions)))
        .x
    )
    first = Pass(history_events, by_role=by_role)
    first.skip(150)
    restored = Pass(history_events, by_role=by_role, history=from_arrays(to_arrays(first.history)))
    assert restored.position == 150
    again = restored.read(len(stream), positions, everyone(history_events, len(positions))).x
    np.testing.assert_array_equal(again, whole)


def test_without_roles_nothing_tells_who_acted(history_events: Events) -> None:
    """Swapping actor and target of any events, the order of the two questions aside, changes no bit."""
    stream = history_events.stream
    swapped = np.random.default_rng(0).random(len(stream)) < 0.5
    u, v = np.where(swapped, stream.v, stream.u), np.where(swapped, stream.u, stream.v)
    other = replace(history_events, stream=replace(stream, u=u, v=v))
    positions = np.arange(len(stream))
    before = (
        Pass(history_events, by_role=False)
        .read(len(stream), positions, everyone(history_events, len(positions)))
        .x
    )
    after = (
        Pass(other, by_role=False).read(len(stream), positions, everyone(history_events, len(positions))).x
    )
    after[swapped] = after[swapped][:, ::-1]
    np.testing.assert_array_equal(before, after)


def test_a_standard_is_applied_on_the_way(history_events: Events) -> None:
    stream = history_events.stream
    positions = np.arange(0, len(stream), 9)
    plain = Pass(history_events).read(len(stream), positions, everyone(history_events, len(positions))).x
    standard = Standard.of(plain)
    read = (
        Pass(history_events, standard=standard)
        .read(len(stream), positions, everyone(history_events, len(positions)))
        .x
    )
    np.testing.assert_allclose(read, standard(plain), rtol=1e-5, atol=1e-5)
    assert np.abs(read).max() <= standard.largest


def test_logarithms_come_first_in_every_block(history_events: Events) -> None:
    statistics = Pass(history_events).statistics
    for block in BLOCKS:
        logs = [one.scale in SCALES for one in statistics if one.block == block]
        assert logs == sorted(logs, reverse=True)
    assert {one.group for one in statistics} == set(GROUPS)
    assert {one.group for one in statistics if one.block == "past"} == set(OWN)


def test_the_logarithm_is_exact_to_single_precision() -> None:
    x = np.exp(np.random.default_rng(0).uniform(-20, 20, 2_000)).astype(np.float32)
    logs = np.array([logarithm(value) for value in x])
    exact = np.log(x.astype(np.float64))
    assert (np.abs(logs - exact) <= 2.0**-23 * np.maximum(np.abs(exact), 1)).all()


def test_memory_grows_with_pairs_seen_not_with_all_pairs(history_events: Events) -> None:
    stream = history_events.stream
    nodes = 20_000
    large = replace(
        history_events,
        stream=replace(stream, nodes=nodes, associations=np.empty((0, 2), np.int64)),
        ties=np.empty((0, 2), np.int64),
    )
    reading = Pass(large)
    reading.read(len(stream), np.arange(3), np.tile(np.arange(50), (3, 2, 1)))
    per_node = sum(array.nbytes for array in to_arrays(reading.history).values()) / nodes
    assert per_node < 5_000


def test_a_table_is_read_with_its_types_and_directed_ties(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    table = store_table(lake)
    loaded = load_events(lake.dataset("toy"))
    assert [loaded.types[kind] for kind in loaded.type] == table.events["type"].to_list()
    initial = table.associations.filter(relation="Follow", snapshot="initial")
    expected = {(u, v) for u, v in initial.select("u", "v").iter_rows() if u != v}
    assert set(map(tuple, loaded.ties.tolist())) == expected
