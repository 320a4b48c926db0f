"""Probabilities that learn from how days came out."""

from datetime import date, timedelta

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from pipeline.following import chance as chance_module
from pipeline.following import outlook as outlook_module
from pipeline.following.chance import Chance, chance_evidence
from pipeline.following.forecasts import likeliest
from pipeline.following.outlook import Outlook, Row
from pipeline.following.scores import Given, pair_scores
from pipeline.results.pairs import Pairs

N = 40
MONDAY = date(2026, 6, 1)
OTHERS = ~np.eye(N, dtype=bool)


def pairs_of(matrix: np.ndarray) -> Pairs:
    return Pairs(N, np.flatnonzero(matrix & OTHERS))


def hazards(chance: Chance, outlook: Outlook, day: date) -> np.ndarray:
    """Of a whole outlook: (N, N)."""
    return np.concatenate([chance.hazard(block, day) for block in outlook.blocks()])


def dense_hazard(chance: Chance, log_intensity: np.ndarray, day: date) -> np.ndarray:
    """The definition, written out over N × N."""
    logs = log_intensity.astype(np.float64)
    logs = logs - logs.max(1, keepdims=True)
    share = np.exp(logs) / np.exp(logs).sum(1, keepdims=True)
    habit = np.zeros((N, N), np.float32)
    habit.ravel()[chance.pairs.keys] = chance.habit
    habit = habit.astype(np.float64) / max(chance.days, 1.0)
    hazard = chance.hazard_of(chance_evidence(share, habit.sum(1, keepdims=True), habit, day))
    np.fill_diagonal(hazard, 0.0)
    return hazard


def random_outlook(seed: int) -> np.ndarray:
    share = np.random.default_rng(seed).normal(size=(N, N)).astype(np.float32)
    np.fill_diagonal(share, -np.inf)
    return share


def lived(seed: int, share: np.ndarray) -> Chance:
    """After two days."""
    random, chance = np.random.default_rng(seed), Chance.new(N)
    chance.remember(pairs_of(random.random((N, N)) < 0.05))
    chance.observe(Outlook.whole(share), MONDAY, pairs_of(random.random((N, N)) < 0.05))
    return chance


def test_probabilities_become_calibrated_whatever_the_model_says_of_their_size() -> None:
    random = np.random.default_rng(0)
    truth = random.gamma(0.3, 0.2, (N, N))  # events a day
    np.fill_diagonal(truth, 0.0)
    share = np.log(truth / truth.sum(1, keepdims=True) + 1e-6)
    np.fill_diagonal(share, -np.inf)
    outlook, chance = Outlook.whole(share), Chance.new(N)
    given, outcomes = [], []
    for number in range(60):
        day = MONDAY + timedelta(days=number)
        came = random.poisson(truth) > 0
        if number >= 20:
            given.append(-np.expm1(-hazards(chance, outlook, day)))
            outcomes.append(came)
        chance.observe(outlook, day, pairs_of(came))
    given, outcomes = np.array(given), np.array(outcomes)
    assert np.isclose(given.sum(), outcomes.sum(), rtol=0.05)
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.7)):
        band = (given >= low) & (given < high)
        assert np.isclose(given[band].mean(), outcomes[band].mean(), rtol=0.15)

    def log_score(probability: np.ndarray) -> float:
        one = Given(probability[OTHERS], outcomes[-1][OTHERS], np.ones(N * (N - 1)))
        return pair_scores([one])["log_score"]

    assert log_score(given[-1]) > 1.25 * log_score(-np.expm1(-truth))


def test_what_is_kept_of_it_gives_the_same_probabilities() -> None:
    share = random_outlook(1)
    chance, outlook = lived(1, share), Outlook.whole(share)
    again = Chance.from_arrays({name: np.array(array) for name, array in chance.arrays().items()})
    np.testing.assert_array_equal(hazards(again, outlook, MONDAY), hazards(chance, outlook, MONDAY))
    assert not hazards(chance, outlook, MONDAY).diagonal().any()


def test_rows_of_everyone_have_the_bits_of_the_dense_definition() -> None:
    share = random_outlook(2)
    chance, outlook = lived(2, share), Outlook.whole(share)
    dense = dense_hazard(chance, share, MONDAY)
    np.testing.assert_array_equal(hazards(chance, outlook, MONDAY), dense)
    (block,) = outlook.blocks()
    listed = dense.copy()
    np.fill_diagonal(listed, -1.0)
    partners, _ = likeliest(block, dense, 5)
    np.testing.assert_array_equal(partners, np.argsort(-listed, axis=1, kind="stable")[:, :5])


def some_rows(share: np.ndarray, near: np.ndarray) -> Outlook:
    """Rows that hold the likely ones and `near`, and every second of the rest, for two."""
    rows = []
    for node in range(N):
        is_near = (share[node] > np.median(share[node])) | near[node]
        is_near[node] = True
        far = np.flatnonzero(~is_near)
        weight = is_near.astype(float)
        weight[node], weight[far[::2]] = 0.0, len(far) / len(far[::2])
        partner = np.flatnonzero(weight + (np.arange(N) == node))
        rows.append(Row.of(node, partner, weight[partner], share[node, partner]))
    return Outlook.of_rows(rows)


def test_rows_of_some_give_what_rows_of_everyone_give_where_the_others_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = random_outlook(3)
    share[share < np.median(share, axis=1, keepdims=True)] = -2.0  # all who are unlikely are as likely
    np.fill_diagonal(share, -np.inf)
    chance, came = lived(3, share), np.random.default_rng(4).random((N, N)) < 0.03
    met = np.zeros((N, N), bool)
    met.ravel()[chance.pairs.keys] = True
    whole, some = Outlook.whole(share), some_rows(share, met | came)
    assert not some.is_whole
    np.testing.assert_allclose(some.total, whole.total, rtol=1e-6)
    dense = dense_hazard(chance, share, MONDAY)
    monkeypatch.setattr(outlook_module, "AT_ONCE", 100)  # a few rows at once
    blocks = list(some.blocks())
    assert len(blocks) > 5
    for block in blocks:
        held = block.weight > 0
        rows = np.broadcast_to(block.nodes[:, None], held.shape)
        expected = dense[rows[held], block.partner[held]]
        np.testing.assert_allclose(chance.hazard(block, MONDAY)[held], expected, rtol=1e-6)
    usual = chance.partners(some)
    for acts, logs, expected in ((True, share[7], dense[7]), (False, share[:, 7], dense[:, 7])):
        asked = chance.hazard_with_everyone(some, usual, logs, 7, MONDAY, acts=acts)
        others = np.arange(N) != 7
        np.testing.assert_allclose(asked[others], expected[others], rtol=1e-6)
    other = lived(3, share)
    chance.observe(whole, MONDAY, pairs_of(came))
    other.observe(some, MONDAY, pairs_of(came))
    np.testing.assert_allclose(other.weights, chance.weights, rtol=1e-4)
    np.testing.assert_allclose(other.precision, chance.precision, rtol=1e-4)
    np.testing.assert_array_equal(other.habit, chance.habit)


def test_of_many_rows_others_are_learned_from_every_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chance_module, "MOST_ROWS", N // 4)
    outlook, seen = Outlook.whole(random_outlook(5)), set()
    for number in range(4):
        day = MONDAY + timedelta(days=number)
        rows = [block.nodes for block in outlook.blocks(4, day.toordinal() % 4)]
        seen |= set(np.concatenate(rows).tolist())
        assert len(np.concatenate(rows)) == N // 4
    assert seen == set(range(N))
    chance = Chance.new(N)
    chance.observe(outlook, MONDAY, pairs_of(np.random.default_rng(6).random((N, N)) < 0.05))
    assert np.isfinite(chance.weights).all()


def test_what_is_learned_has_the_same_bits_on_any_number_of_threads() -> None:
    many, random = 400, np.random.default_rng(0)  # enough for sums that threads share
    logs = random.normal(0, 2, (many, many)).astype(np.float32)
    np.fill_diagonal(logs, -np.inf)
    came = Pairs(many, np.flatnonzero((random.random((many, many)) < 0.01) & ~np.eye(many, dtype=bool)))
    learned = []
    for threads in (1, 4):
        chance = Chance.new(many)
        with threadpool_limits(threads, "blas"):
            chance.observe(Outlook.whole(logs), MONDAY, came)
        learned.append(chance.weights.tobytes() + chance.precision.tobytes())
    assert learned[0] == learned[1]
