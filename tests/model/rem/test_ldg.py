"""A relational-event model that reads a trained LDG: what it reads, that it sees no future, its contract."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from model import load
from model.checkpoint import read_tensors
from model.choice import Chosen
from model.forward import advance_in_batches
from model.history.events import Events, load_events, statistics_of_events
from model.history.latent import LatentMemory
from model.history.reading import Pass
from model.history.registry import listed
from model.identity import TrainingSettings
from model.parameters import Parameters, shapes_of
from model.rem.ldg import FrozenLdg, trained_ldg
from model.rem.settings import RemSettings
from model.rem.training import train_rem
from model.run import generators
from model.state import initial_state
from model.training import train
from pipeline.lake import Lake
from pipeline.rem_variants import LDG, RemVariant, rem_variants
from pipeline.variants import model_named
from tests.small_world import store_table

SMALL = RemSettings(
    seeds=(0, 3), epochs=2, batch=16, candidates=5, hidden=(8, 4), base_hidden=(6, 3), silent=20
)
BRIEF = replace(SMALL, seeds=(0,), epochs=1)
READERS = [variant for variant in rem_variants() if variant.of_ldg is not None]


@pytest.fixture(scope="module")
def ldg_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of a small world in which LDG is trained."""
    lake = Lake(tmp_path_factory.mktemp("ldg"))
    store_table(lake, events=150)
    folder = lake.model("toy", LDG)
    train(lake.dataset("toy"), LDG, TrainingSettings(seeds=(2, 5), epochs=1, batch=50, d=8), folder)
    return folder.parent


@pytest.fixture(scope="module")
def ldg_table(ldg_models: Path) -> Path:
    return ldg_models.parents[1] / "datasets" / "toy"


@pytest.fixture(scope="module")
def ldg_events(ldg_table: Path) -> Events:
    return load_events(ldg_table)


@pytest.fixture(scope="module")
def frozen_ldg(ldg_models: Path, ldg_events: Events) -> FrozenLdg:
    return trained_ldg(ldg_models, READERS[0], ldg_events.stream.fingerprint).final


@pytest.fixture(scope="module")
def kept_files(ldg_table: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files that a training of a model without LDG keeps."""
    folder = tmp_path_factory.mktemp("plain") / RemVariant().key
    train_rem(ldg_table, RemVariant(), BRIEF, folder)
    return {path.name for path in folder.iterdir()}


def with_course(ldg_events: Events, frozen_ldg: FrozenLdg, variant: RemVariant) -> Events:
    return replace(ldg_events, course=frozen_ldg.course(ldg_events.stream, variant))


def test_the_model_that_is_read_is_a_variant_of_every_dataset() -> None:
    assert model_named(LDG, ["Follow"]).key == LDG
    assert {variant.name for variant in READERS} == {"rem_embeddings", "rem_attention"}
    assert {variant.needs for variant in READERS} == {LDG}
    assert "of_ldg" not in RemVariant().as_json()
    with pytest.raises(ValueError, match="of_ldg takes one of"):
        RemVariant(of_ldg="graph")  # ty: ignore[invalid-argument-type]


def test_weights_of_choosing_are_those_before_validation(ldg_models: Path, ldg_events: Events) -> None:
    ldg = trained_ldg(ldg_models, READERS[0], ldg_events.stream.fingerprint)
    chosen = Chosen.from_tensors(read_tensors(ldg_models / LDG / "state.safetensors")[0])
    assert chosen.validation.state.position == ldg_events.stream.splits[0]
    assert chosen.test.state.position == ldg_events.stream.splits[1]
    assert torch.equal(ldg.choosing.weights, chosen.validation.weights[:1])
    assert torch.equal(ldg.final.weights, chosen.test.weights[:1])
    assert ldg.final.seed == 2


def test_a_memory_stands_where_ldg_itself_stands(ldg_events: Events, frozen_ldg: FrozenLdg) -> None:
    stream, end = ldg_events.stream, 117
    course = frozen_ldg.course(stream, READERS[0])
    memory = LatentMemory(stream, course, by_role=True)
    memory.read(slice(0, end), np.full(end, -1), np.empty((0, 2, 1), np.int64))
    state = initial_state(
        stream, frozen_ldg.variant, frozen_ldg.width, generators((frozen_ldg.seed,), "start")
    )
    named = Parameters(shapes_of(frozen_ldg.variant, frozen_ldg.width), frozen_ldg.weights).named
    random = generators((frozen_ldg.seed,), "ranking")
    with torch.no_grad():
        for _ in advance_in_batches(stream, frozen_ldg.variant, named, state, end, random, 37):
            pass
    np.testing.assert_allclose(memory.z, state.z[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(memory.attention, state.attention.dense()[0].numpy(), atol=1e-5)


def test_a_large_network_is_refused_with_what_to_train_instead(
    ldg_events: Events, frozen_ldg: FrozenLdg
) -> None:
    with pytest.raises(ValueError, match=r"at most 2,000 nodes.* has 2,001: train rem-history"):
        frozen_ldg.course(replace(ldg_events.stream, nodes=2_001), READERS[0])


def test_statistics_are_those_of_the_embeddings_and_of_the_attention(
    ldg_events: Events, frozen_ldg: FrozenLdg
) -> None:
    width = len(listed(len(ldg_events.types)))
    for variant in READERS:
        reading = Pass(with_course(ldg_events, frozen_ldg, variant))
        reading.skip(90)
        (memory,) = reading.memories
        assert isinstance(memory, LatentMemory)
        now = float(ldg_events.stream.seconds[90])
        for acts, (a, b) in ((True, (3, 5)), (False, (5, 3))):
            x = reading.ask(3, now, acts=acts).x[5, width:]
            if variant.of_ldg == "attention":
                expected = np.log(np.concatenate([memory.attention[a, b], memory.attention[b, a]]) + 0.001)
            else:
                z, course = memory.z.astype(np.float64), memory.course
                g = z[a] @ course.compatibility @ z[b]
                cosine = z[a] @ z[b] / np.linalg.norm(z[a]) / np.linalg.norm(z[b])
                rate = course.rate * np.log1p(np.exp(g / course.rate))
                expected = np.array([np.log(rate), cosine, np.linalg.norm(z[a] - z[b])])
            np.testing.assert_allclose(x, expected, atol=1e-4)


@pytest.mark.parametrize("by_role", [True, False])
@pytest.mark.parametrize("variant", READERS, ids=lambda variant: variant.name)
def test_what_happens_later_changes_no_statistic(
    ldg_events: Events, frozen_ldg: FrozenLdg, variant: RemVariant, by_role: bool
) -> None:
    stream, moment = ldg_events.stream, 115
    u, v = stream.u.copy(), stream.v.copy()
    u[moment + 1 :], v[moment + 1 :] = u[moment + 1 :][::-1], v[moment + 1 :][::-1]
    later = replace(ldg_events, stream=replace(stream, u=u, v=v))
    positions = np.arange(moment - 20, moment + 1)
    everyone = np.broadcast_to(np.arange(stream.nodes), (len(positions), 2, stream.nodes))
    one, other = (
        Pass(with_course(each, frozen_ldg, variant), by_role=by_role).read(moment + 1, positions, everyone).x
        for each in (ldg_events, later)
    )
    np.testing.assert_array_equal(one, other)
    plain = Pass(ldg_events, by_role=by_role).read(moment + 1, positions, everyone).x
    np.testing.assert_array_equal(one[..., : plain.shape[-1]], plain)


@pytest.mark.parametrize("by_role", [True, False])
def test_asking_is_as_reading(ldg_events: Events, frozen_ldg: FrozenLdg, by_role: bool) -> None:
    read = with_course(ldg_events, frozen_ldg, READERS[1])
    stream, everyone = ldg_events.stream, np.arange(ldg_events.stream.nodes)
    reading, asking = Pass(read, by_role=by_role), Pass(read, by_role=by_role)
    asking.skip(90)
    of_events = reading.read(91, np.array([90]), np.broadcast_to(everyone, (1, 2, stream.nodes))).x
    for side, node in enumerate((stream.u[90], stream.v[90])):
        of_question = asking.ask(int(node), float(stream.seconds[90]), acts=side == 0).x
        np.testing.assert_array_equal(of_question, of_events[0, side])


@pytest.mark.parametrize("variant", READERS, ids=lambda variant: variant.name)
def test_a_training_keeps_what_every_variant_keeps_and_forecasts_without_ldg_beside_it(
    ldg_models: Path, ldg_table: Path, kept_files: set[str], variant: RemVariant, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(ldg_models, tmp_path / "models")) / variant.key
    summary = train_rem(ldg_table, variant, BRIEF, folder)
    assert {path.name for path in folder.iterdir()} == kept_files
    assert summary["ldg"]["key"] == LDG
    lines: list[str] = []
    train_rem(ldg_table, variant, BRIEF, folder, lines.append)
    assert "already trained" in lines[0]
    contributions = pl.read_parquet(folder / "contributions.parquet")
    assert f"ldg_{variant.of_ldg}" in set(contributions["group"])
    apart = folder.rename(tmp_path / variant.key)
    forecast = load(apart, ldg_table).predict(3).frame()
    stored = pl.read_parquet(apart / "predictions.parquet").filter(pl.col("node") == 3)
    assert forecast["node"].to_list() == stored["partner"].to_list()
    np.testing.assert_allclose(forecast["probability"], stored["density"], atol=1e-5)


def test_a_training_without_ldg_says_what_to_train_first(ldg_table: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"rem_attention-history reads {LDG}, which is not finished.*first"):
        train(ldg_table, "rem_attention-history", SMALL, tmp_path / "rem_attention-history")


def test_an_ldg_of_another_event_table_is_refused(ldg_models: Path) -> None:
    with pytest.raises(ValueError, match="was trained on another event table"):
        trained_ldg(ldg_models, READERS[0], "another")


def test_a_model_that_reads_no_ldg_takes_the_statistics_of_all_streams(ldg_events: Events) -> None:
    assert Pass(ldg_events).memories == ()
    assert statistics_of_events(ldg_events) == listed(len(ldg_events.types))
