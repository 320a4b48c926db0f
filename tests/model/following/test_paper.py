"""A model of the paper's that follows: what it goes on from is all in its file."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from model.following import paper
from model.following.families import family_of
from model.following.paper import PaperFamily, PaperFollower
from model.identity import TrainingSettings
from pipeline.following.events import FOLLOWED_EVENTS
from pipeline.following.rule_of_settings import follow_rule
from pipeline.following.window import DAY, Window, file_day_span
from pipeline.results.pairs import Pairs
from pipeline.settings import Settings
from pipeline.variants import variant_with_key, variants_for

NODES, EVENTS = 6, 20  # of a day
WINDOW = Window(date(2026, 6, 1), date(2026, 6, 5))


def day_of(day: date) -> pl.DataFrame:
    """Events of a day: each acts on the next one, mostly; some join a circle."""
    random = np.random.default_rng(day.toordinal())
    u = random.integers(0, NODES, EVENTS)
    v = (u + 1 + (random.random(EVENTS) < 0.2)) % NODES
    seconds = np.sort(random.integers(0, 86_400, EVENTS))
    rows = pl.DataFrame({"u": u, "v": v}).with_columns(
        type=pl.lit("PushEvent"),
        kind=pl.Series(np.where(random.random(EVENTS) < 0.1, "association", "communication")),
        created_at=pl.Series([file_day_span(day)[0] + timedelta(seconds=int(second)) for second in seconds]),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())


def trained(variant: str) -> PaperFollower:
    family = PaperFamily(
        variant_with_key(variant, variants_for(("",))), TrainingSettings(seeds=(0,), epochs=2, batch=12, d=4)
    )
    past = pl.concat(day_of(day) for day in Window(WINDOW.first, WINDOW.last - 2 * DAY))
    judged = pl.concat(day_of(day) for day in Window(WINDOW.last - DAY, WINDOW.last))
    follower, facts = family.train(WINDOW, NODES, past, judged, None)
    assert facts["epochs"] == 2
    return follower


def all_of(follower: PaperFollower, folder: Path) -> dict[str, torch.Tensor]:
    """Everything that a further day goes on from."""
    path = folder / "model.safetensors"
    follower.save(path, {})
    return paper.read_tensors(path)[0]


def dense(follower: PaperFollower) -> np.ndarray:
    """log λ of all pairs: (N, N)."""
    nobody = Pairs(NODES, np.empty(0, np.int64))
    return follower.outlook(follower.begin, nobody).log_intensity.reshape(NODES, NODES)


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("variant", ["ldg_learned_sparse-bilinear", "dyrep-concat"])
def test_a_file_holds_all_that_days_go_on_from_and_asking_changes_nothing(
    variant: str, tmp_path: Path
) -> None:
    follower = trained(variant)
    before = all_of(follower, tmp_path)
    days = list(Window(WINDOW.last - DAY, WINDOW.last))
    loaded, _ = follower.family.load(tmp_path / "model.safetensors")
    outlook = dense(follower)
    assert np.isneginf(np.diag(outlook)).all()
    assert np.isfinite(outlook[~np.eye(NODES, dtype=bool)]).all()
    for day in days:
        events = day_of(day)
        asked = np.flatnonzero((events["kind"] == "communication").to_numpy())[::3]
        ranks = follower.rank(events, asked)
        assert ranks.equals(loaded.rank(events, asked))
        assert ranks["position"].to_list() == asked.tolist()
        assert ranks.select(pl.col("rank_v", "rank_u").is_between(0, NODES - 2)).to_numpy().all()
        assert (ranks["log_score"] < 0).all()
        assert_equal(all_of(follower, tmp_path), before)
        follower.learn(events, day)
        loaded.learn(events, day)
        before = all_of(follower, tmp_path)
        assert_equal(before, all_of(loaded, tmp_path))


def test_no_more_of_the_past_is_kept_than_survival_reaches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = trained("ldg_learned_sparse-bilinear")
    for module in (paper, "model.ranking"):
        name = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{name}.HORIZON", 30)
    short = PaperFollower.after(whole.family, whole.begin, whole.going_on(pl.DataFrame(), []))
    assert len(short.past["u"]) == 30 < len(whole.past["u"])
    events = day_of(WINDOW.last)
    assert short.rank(events, np.arange(EVENTS)).equals(whole.rank(events, np.arange(EVENTS)))
    np.testing.assert_array_equal(dense(short), dense(whole))


def test_a_variant_that_cannot_follow_is_refused_with_those_that_can() -> None:
    assert isinstance(family_of("ldg_learned_sparse-bilinear"), PaperFamily)
    for name in ("gcn-bilinear", "ldg_learned_sparse_freq-bilinear", "ldg"):
        with pytest.raises(ValueError, match=f"names {name}; those that follow are rem, .*dyrep-concat"):
            family_of(name)
        with pytest.raises(ValueError, match="those that follow are"):
            follow_rule(Settings(follow_variants=("rem", name)))
