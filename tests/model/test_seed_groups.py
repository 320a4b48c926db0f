"""A training whose seeds learn apart is the training whose seeds learn together, bit for bit."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.checkpoint import CheckpointError, read_tensors
from model.epochs import learn
from model.identity import TrainingSettings
from model.run import new_run
from model.seed_groups import group_checkpoint, group_checkpoints, join_groups, learn_group
from model.stream import load_stream
from model.training_task import seeds_by_task, tasks_of_each
from pipeline.variants import Variant, model_named
from tests.small_world import RELATIONS, write_table

SETTINGS = TrainingSettings(seeds=(0, 1, 4), epochs=2, batch=20, d=4)
GROUPS = [(0,), (1, 4)]


@pytest.mark.parametrize("key", ["ldg_learned_sparse-concat", "gat-concat"])
def test_groups_are_joined_to_the_checkpoint_of_all(key: str, tmp_path: Path) -> None:
    """Each seed of an LDG begins with a graph of its own, so that rows are widened at other events."""
    variant, table = model_named(key, RELATIONS), write_table(tmp_path / "toy", events=60)
    assert isinstance(variant, Variant)
    whole = tmp_path / "whole.safetensors"
    learn(new_run(load_stream(table, variant.relation), variant, SETTINGS), whole, None)
    for seeds in GROUPS:
        assert learn_group(table, variant, replace(SETTINGS, seeds=seeds), tmp_path, None, threads=1)
    assert sorted(group_checkpoints(tmp_path)) == [group_checkpoint(tmp_path, seeds) for seeds in GROUPS]
    join_groups(table, variant, SETTINGS, GROUPS, tmp_path)
    (tensors, header), (joined, header_joined) = (
        read_tensors(path) for path in (whole, tmp_path / "checkpoint.safetensors")
    )
    assert header_joined | {"seconds": 0} == header | {"seconds": 0}
    assert joined.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(joined[name].nan_to_num(), tensor.nan_to_num()), name
    with pytest.raises(CheckpointError, match="belongs to another training"):
        join_groups(table, variant, replace(SETTINGS, epochs=3), GROUPS, tmp_path)


def test_a_training_is_cut_where_workers_have_nothing_else_to_do() -> None:
    assert [tasks_of_each(workers, 3) for workers in (1, 3, 5, 6, 60)] == [1, 1, 1, 2, 20]
    assert seeds_by_task(range(10), 1) == [tuple(range(10))]
    assert seeds_by_task(range(10), 3) == [(0, 1, 2), (3, 4, 5), (6, 7, 8, 9)]
    assert seeds_by_task(range(2), 5) == [(0,), (1,)]
