"""Trainings side by side: how long they take is guessed from those that ended, if any did."""

import pytest

from assets.headless.learning import LEARNED, Training, WaitingTimes
from assets.headless.side_by_side import Outcome, seconds_left
from pipeline.variants import model_named


def training(key: str, events: int = 100, resumed: bool = False) -> Training:
    return Training("office", model_named(key, ["Ties"]), events, resumed)


def ended(one: Training, seconds: float, failed: bool = False) -> Outcome:
    return Outcome(one, seconds, failed, "")


def test_learned_attention_weighs_more_and_frequency_waits_for_its_weights() -> None:
    learned, frequent = training("ldg_learned_sparse-concat"), training("ldg_learned_sparse_freq-concat")
    assert learned.weight == LEARNED * training("dyrep-concat").weight == LEARNED * frequent.weight
    assert frequent.needs == {learned.key}
    assert learned.needs == training("rem-history").needs == set()


def test_waiting_times_need_no_training_and_are_a_step_of_their_own() -> None:
    waits = WaitingTimes("office", events=100)
    assert waits.needs == set()
    assert waits.weight == training("dyrep-concat").weight
    assert str(waits.step) == str(waits) == "office/waiting_times"
    assert str(training("dyrep-concat").step) == "office/trained_models dyrep-concat"


def test_seconds_left_follow_from_whole_trainings() -> None:
    left = [training("ldg_learned_sparse-concat"), training("gcn-concat")]
    trainings = [ended(training("dyrep-concat"), 10.0)]
    assert seconds_left(trainings, left, 0.0, 1) == pytest.approx(10 * LEARNED + 10)
    assert seconds_left(trainings, left, 0.0, 2) == pytest.approx((10 * LEARNED + 10) / 2)
    assert seconds_left(trainings, left, 20.0, 8) == pytest.approx((10 * LEARNED + 10 - 20) / 2)
    assert seconds_left(trainings, left, 1e9, 2) == 0
    assert seconds_left(trainings, [], 0.0, 2) == 0


def test_nothing_is_guessed_from_trainings_that_failed_went_on_or_had_no_events() -> None:
    left = [training("gcn-concat")]
    assert seconds_left([], left, 0.0, 2) is None
    assert seconds_left([ended(training("dyrep-concat"), 3.0, failed=True)], left, 0.0, 2) is None
    assert seconds_left([ended(training("dyrep-concat", resumed=True), 0.0)], left, 0.0, 2) is None
    assert seconds_left([ended(training("dyrep-concat", events=0), 0.0)], left, 0.0, 2) is None
