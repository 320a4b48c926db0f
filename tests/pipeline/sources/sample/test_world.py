from bisect import bisect_right
from dataclasses import fields, replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from pipeline.sources.sample.world import Rhythm, World, WorldSettings, bounds_of, simulate

SETTINGS = WorldSettings(
    seed=7,
    people=40,
    communities=4,
    hubs=2,
    start=datetime(2014, 12, 19, 8),
    end=datetime(2015, 1, 12),
    interactions=4_000,
)


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(SETTINGS)


def test_the_same_seed_makes_the_same_world_and_another_seed_another():
    settings = replace(SETTINGS, people=20, interactions=500)
    world, again, other = simulate(settings), simulate(settings), simulate(replace(settings, seed=8))
    for part in ("ties", "interactions", "declarations"):
        for field in fields(getattr(world, part)):
            np.testing.assert_array_equal(
                getattr(getattr(world, part), field.name), getattr(getattr(again, part), field.name)
            )
    assert not np.array_equal(world.interactions.seconds, other.interactions.seconds)


def test_bounds_draw_what_choice_draws():
    chances = np.random.default_rng(1).dirichlet(np.ones(9))
    ours, numpys = np.random.default_rng(2), np.random.default_rng(2)
    bounds = bounds_of(chances)
    drawn = [bisect_right(bounds, ours.random()) for _ in range(500)]
    assert drawn == [numpys.choice(9, p=chances) for _ in range(500)]


def test_about_as_many_interactions_happen_as_asked_for_and_in_order(world: World):
    assert len(world.interactions) == pytest.approx(SETTINGS.interactions, rel=0.15)
    seconds = world.interactions.seconds
    assert (np.diff(seconds) >= 0).all()
    assert seconds[0] >= 0
    assert seconds[-1] < SETTINGS.seconds


def test_planted_ties_carry_nearly_all_interactions_and_only_while_they_last(world: World):
    stream, ties = world.interactions, world.ties
    assert 0.95 < stream.planted.mean() < 1
    lasts = {(u, v): n for n, (u, v) in enumerate(zip(ties.u.tolist(), ties.v.tolist(), strict=True))}
    for (second, u, v), planted in zip(stream, stream.planted.tolist(), strict=True):
        tie = lasts.get((min(u, v), max(u, v)))
        assert (tie is not None) == planted
        if tie is not None:
            assert ties.formed[tie] - 1 <= second <= ties.dissolved[tie] + 1


def test_an_interaction_makes_a_reply_likelier_for_a_while(world: World):
    """Replies within the memory of an interaction come far more often than the pair's mean rate has them."""
    stream, memory = world.interactions, SETTINGS.memory_hours * 3600
    times: dict[tuple[int, int], list[int]] = {}
    for second, u, v in stream:
        times.setdefault((u, v), []).append(second)
    observed = expected = 0.0
    for (u, v), sent in times.items():
        answers = np.array(times.get((v, u), []))
        if len(answers):
            sent_at = np.array(sent)
            observed += (np.searchsorted(answers, sent_at + memory) - np.searchsorted(answers, sent_at)).sum()
            expected += len(sent) * len(answers) * memory / SETTINGS.seconds
    assert observed > 2 * expected


def test_without_excitation_interactions_come_less_in_bursts(world: World):
    calm = simulate(replace(SETTINGS, reply=0.0, repeat=0.0, spread=0.0))
    gaps = np.diff(calm.interactions.seconds)
    excited = np.diff(world.interactions.seconds)
    assert gaps.std() / gaps.mean() < excited.std() / excited.mean()


def test_people_sleep_and_rest_at_weekends(world: World):
    hours = (SETTINGS.start.hour + world.interactions.seconds // 3600) % 24
    night, day = ((hours >= 2) & (hours < 6)).sum(), ((hours >= 13) & (hours < 17)).sum()
    assert day > 4 * night
    days = (SETTINGS.start.weekday() + (SETTINGS.start.hour + world.interactions.seconds // 3600) // 24) % 7
    assert np.bincount(days, minlength=7)[5:].mean() < np.bincount(days, minlength=7)[:5].mean()


def test_the_clock_of_activity_goes_there_and_back():
    rhythm = Rhythm(datetime(2008, 9, 4), timedelta(days=9).total_seconds())
    wall = np.linspace(0, timedelta(days=9).total_seconds() - 1, 500)
    np.testing.assert_allclose(rhythm.to_wall(rhythm.from_wall(wall)), wall, atol=1e-3)


def test_ties_form_and_dissolve_during_the_period(world: World):
    begin, end = set(world.planted(SETTINGS.start)), set(world.planted(SETTINGS.end - timedelta(seconds=1)))
    assert end - begin
    assert begin - end


def test_hubs_have_more_ties_than_others(world: World):
    degree = np.bincount(np.concatenate([world.ties.u, world.ties.v]), minlength=SETTINGS.people)
    assert degree[world.hubs].mean() > np.delete(degree, world.hubs).mean()


def test_declarations_are_an_imperfect_view_of_the_planted_graph(world: World):
    ever = set(zip(world.ties.u.tolist(), world.ties.v.tolist(), strict=True))
    declared = {(min(u, v), max(u, v)) for _, u, v in world.declarations}
    assert ever - declared, "some planted ties are never declared"
    assert declared - ever, "some declared ties are not planted"
    assert len(declared & ever) > 0.6 * len(ever)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"people": 3}, "people"),
        ({"hubs": 99}, "hubs"),
        ({"end": datetime(2014, 1, 1)}, "start"),
        ({"interactions": 0}, "interactions"),
        ({"memory_hours": 0.0}, "memory_hours"),
        ({"noise": 1.5}, "noise"),
        ({"reply": 0.9}, "below 1"),
    ],
)
def test_settings_that_make_no_world_are_refused_by_name(wrong: dict, named: str):
    with pytest.raises(ValueError, match=named):
        replace(SETTINGS, **wrong)
