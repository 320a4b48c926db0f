"""Statistics of own columns: what they say of the past, nothing of the future, and that they help."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from model import load
from model.history.events import Events, load_events, statistics_of_events
from model.history.own import SHRINK, TAUS
from model.history.reading import Pass
from model.history.registry import listed
from model.rem.settings import RemSettings
from model.rem.training import train_rem
from pipeline.event_table import Split, build_event_table, write_event_table
from pipeline.rem_variants import RemVariant
from tests.small_world import write_table

START = datetime(2024, 1, 1)
PEOPLE, CLASSES, SHOPS = 4, 3, 4  # each class has so many shops
BANK, FIRST_SHOP = PEOPLE, PEOPLE + 1
ROUNDS = 300


def payments(folder: Path, *, columns: bool = True, seed: int = 0) -> Path:
    """Every hour a person draws money, and spends it at one of the shops where things cost as much.

    Nothing but the amount drawn says which shops these are: all are as likely, whoever draws.
    """
    random = np.random.default_rng(seed)
    names = [f"person {number}" for number in range(PEOPLE)] + ["bank"]
    names += [f"shop {number}" for number in range(CLASSES * SHOPS)]
    rows = []
    for number in range(ROUNDS):
        person, level = names[number % PEOPLE], int(random.integers(CLASSES))
        shop = names[FIRST_SHOP + level * SHOPS + int(random.integers(SHOPS))]
        drawn = START + timedelta(hours=number)
        for target, moment in (("bank", drawn), (shop, drawn + timedelta(minutes=30))):
            amount = None if random.random() < 0.02 else 100.0 * level + random.normal()
            rows.append((person, target, "Payment", "communication", moment, amount))
    schema = ["source", "target", "type", "kind", "created_at", "amount"]
    prices = [None] * FIRST_SHOP + [100.0 * (shop // SHOPS) for shop in range(CLASSES * SHOPS)]
    table = build_event_table(
        name="payments",
        title="Payments",
        description="",
        rows=pl.DataFrame(rows, schema=schema, orient="row"),
        node_names=names,
        split=Split(START + timedelta(hours=ROUNDS * 3 // 4)),
        own_relations=["Association"],
        own_columns={"events": ["amount"], "nodes": ["price"]} if columns else None,
        node_values=pl.DataFrame({"price": prices}) if columns else None,
    )
    write_event_table(table, folder)
    return folder


def plain_mean(events: Events, which: np.ndarray, end: int, tau: float, now: float) -> float:
    """The fading mean, or the last number where τ is 0, straight from its formula."""
    assert events.own is not None
    values = events.own.of_events[:end, 0]
    used = which[:end] & ~np.isnan(values)
    if tau == 0:
        return float(values[used][-1]) if used.any() else 0.0
    fading = np.exp(-(now - events.stream.seconds[:end][used]) / tau)
    return float((values[used] * fading).sum() / (fading.sum() + SHRINK))


def test_every_statistic_of_own_columns_is_its_formula(tmp_path: Path) -> None:
    events = load_events(payments(tmp_path))
    assert events.own is not None
    stream, end = events.stream, 400
    reading = Pass(events)
    x, _ = reading.read(end + 1, np.array([end]), np.arange(stream.nodes)[None, None].repeat(2, 1))
    of = {one.name: x[0, 0, :, column] for column, one in enumerate(reading.statistics)}
    a, now, prices = int(stream.u[end]), float(stream.seconds[end]), events.own.of_nodes[:, 0]
    for name, tau in zip(("last", "1d", "30d"), TAUS, strict=True):
        mine = plain_mean(events, stream.u == a, end, tau, now)
        for b in (BANK, FIRST_SHOP + 7, 3):
            met = (stream.u == a) & (stream.v == b)
            theirs = plain_mean(events, stream.v == b, end, tau, now)
            usual = plain_mean(events, stream.v == b, end, TAUS[-1], now)
            assert of[f"own_ab_amount_{name}"][b] == pytest.approx(
                plain_mean(events, met, end, tau, now), abs=1e-5
            )
            assert of[f"a_own_amount_{name}"][b] == pytest.approx(mine, abs=1e-5)
            assert of[f"b_own_amount_{name}"][b] == pytest.approx(theirs, abs=1e-5)
            assert of[f"own_gap_amount_{name}"][b] == pytest.approx(abs(mine - usual), abs=1e-5)
    np.testing.assert_allclose(of["own_gap_price"], np.abs(prices - prices[a]), atol=1e-5)


@pytest.mark.parametrize("by_role", [True, False])
def test_what_happens_later_changes_no_statistic(by_role: bool, tmp_path: Path) -> None:
    events = load_events(payments(tmp_path))
    assert events.own is not None
    later = events.own.of_events.copy()
    later[300:] = 99.0
    changed = replace(events, own=events.own._replace(of_events=later))
    positions = np.arange(290, 301)
    candidates = np.broadcast_to(np.arange(events.stream.nodes), (len(positions), 2, events.stream.nodes))
    one, other = (
        Pass(each, by_role=by_role).read(301, positions, candidates).x for each in (events, changed)
    )
    np.testing.assert_array_equal(one, other)


def test_asking_is_as_reading(tmp_path: Path) -> None:
    events = load_events(payments(tmp_path))
    stream, everyone = events.stream, np.arange(events.stream.nodes)
    reading, asking = Pass(events), Pass(events)
    asking.skip(200)
    read = reading.read(201, np.array([200]), np.broadcast_to(everyone, (1, 2, stream.nodes)))
    now = float(stream.seconds[200])
    for side, (node, acts) in enumerate(((stream.u[200], True), (stream.v[200], False))):
        np.testing.assert_array_equal(asking.ask(int(node), now, acts=acts).x, read.x[0, side])


def test_a_stream_without_own_columns_has_the_statistics_of_all_streams(tmp_path: Path) -> None:
    events = load_events(write_table(tmp_path))
    assert events.own is None
    assert Pass(events).own is None
    assert statistics_of_events(events) == listed(len(events.types))


@pytest.mark.slow
def test_a_column_that_decides_who_is_next_is_learned_from(tmp_path: Path) -> None:
    settings = RemSettings(seeds=(0,), epochs=6, batch=16, candidates=15, silent=50)
    mean_rank = {}
    for columns in (True, False):
        table = payments(tmp_path / f"table {columns}", columns=columns)
        trained = tmp_path / f"model {columns}"
        train_rem(table, RemVariant(), settings, trained)
        test = pl.read_parquet(trained / "rankings.parquet").filter(split="test")
        spent = pl.read_parquet(table / "events.parquet").filter(pl.col("v") >= FIRST_SHOP)
        mean_rank[columns] = test.join(spent, on="idx", how="semi")["rank_v"].to_numpy().mean()
    guessing, class_known = (CLASSES * SHOPS - 1) / 2, (SHOPS - 1) / 2  # 5.5 and 1.5
    assert mean_rank[False] > 0.9 * guessing
    assert mean_rank[True] < class_known + 0.5
    forecast = load(tmp_path / "model True", tmp_path / "table True").predict(0).frame()
    assert {"own", "own_pair"} <= set(forecast["contributions"][0])
