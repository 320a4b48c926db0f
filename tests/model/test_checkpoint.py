"""A checkpoint is resumed from as it was written, or refused with what to do."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from model import epochs
from model.checkpoint import CheckpointError, earlier_checksum, read_tensors, write_tensors
from model.identity import resumable
from model.run import Run, new_run, resume
from model.stream import load_stream
from model.training import TrainingSettings, train
from pipeline.variants import variant_with_key, variants_for
from tests.model.test_training import assert_identical, contents
from tests.small_world import RELATIONS
from tests.whole_system import ROOT

SETTINGS = TrainingSettings(seeds=(0, 1), epochs=2, batch=10, d=4, snapshots=4, checkpoint_minutes=0)
VARIANT = variant_with_key("ldg_learned_sparse-bilinear", variants_for(RELATIONS))


def begun(dataset: Path) -> Run:
    return new_run(load_stream(dataset), VARIANT, SETTINGS)


@pytest.fixture(scope="module")
def whole(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a training in its second epoch, after a snapshot of attention."""
    path = tmp_path_factory.mktemp("whole") / "checkpoint.safetensors"
    run = begun(dataset)

    class EnoughError(Exception):
        pass

    def save(run: Run, to: Path) -> None:
        write(run, to)
        if run.epoch == 1 and run.snapshots:
            raise EnoughError

    write = epochs.save_run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "save_run", save)
        with pytest.raises(EnoughError):
            epochs.learn(run, path, None)
    return path


@pytest.fixture(scope="module")
def undisturbed(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that nothing interrupted."""
    folder = tmp_path_factory.mktemp("undisturbed") / VARIANT.key
    train(dataset, VARIANT, SETTINGS, folder)
    return folder


@pytest.fixture
def checkpoint(whole: Path, tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.safetensors"
    shutil.copyfile(whole, path)
    return path


def raw(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def rewrite_header(path: Path, header: dict[str, Any]) -> None:
    """Another header under the checksum of the first, as an edit of the file would leave it."""
    tensors, metadata = raw(path)
    save_file(tensors, path, metadata={**metadata, "state": json.dumps(header)})


def refused(dataset: Path, path: Path, reason: str) -> None:
    """Refused with the reason, the file's name and a remedy; starting over helps."""
    with pytest.raises(CheckpointError, match=reason) as error:
        train(dataset, VARIANT, SETTINGS, path.parent)
    assert str(path) in str(error.value)
    assert "remove it, or train with start_over=True" in str(error.value)


def test_a_whole_checkpoint_goes_on_to_the_same_end(
    dataset: Path, checkpoint: Path, undisturbed: Path, tmp_path: Path
) -> None:
    assert resumable(checkpoint, begun(dataset).identity)
    lines: list[str] = []
    train(dataset, VARIANT, SETTINGS, tmp_path, lines.append)
    assert any("goes on from epoch 2" in line for line in lines)
    assert_identical(contents(tmp_path), contents(undisturbed))


CHANGES: dict[str, Any] = {
    "identity": lambda identity: {**identity, "dataset": "another"},
    "epoch": lambda epoch: epoch + 1,
    "step": lambda step: step - 1,
    "chosen_epoch": lambda chosen: [2 for _ in chosen],
    "stopped": lambda stopped: [*stopped, {"seed": 1, "reason": "loss is not finite"}],
    "measured": lambda measured: [[[value + 1 for value in row] for row in epoch] for epoch in measured],
    "seconds": lambda seconds: seconds + 1,
}


def test_equal_content_gives_the_same_bytes_in_every_process_and_write(tmp_path: Path) -> None:
    script = """if True:
        import sys, pathlib, torch
        from model.checkpoint import write_tensors
        folder, process = sys.argv[1:]
        for number in range(8):
            tensors = {"weights": torch.ones(3), "losses": torch.zeros(2, dtype=torch.float64)}
            path = pathlib.Path(folder, f"{process}{number}.safetensors")
            write_tensors(tensors, {"title": "déjà vu", "epoch": 3}, path)
    """
    for process in ("first", "second"):
        subprocess.run([sys.executable, "-c", script, tmp_path, process], cwd=ROOT, check=True)
    files = list(tmp_path.iterdir())
    assert len(files) == 16
    assert len({file.read_bytes() for file in files}) == 1
    tensors, header = read_tensors(files[0])
    assert header == {"title": "déjà vu", "epoch": 3}
    assert torch.equal(tensors["weights"], torch.ones(3))


def test_every_field_of_the_header_is_tried(checkpoint: Path) -> None:
    assert set(read_tensors(checkpoint)[1]) == set(CHANGES)


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_header_is_refused(field: str, dataset: Path, checkpoint: Path) -> None:
    _, header = read_tensors(checkpoint)
    rewrite_header(checkpoint, {**header, field: CHANGES[field](header[field])})
    refused(dataset, checkpoint, "does not match its own checksum")


@pytest.mark.parametrize("field", CHANGES)
def test_a_header_without_a_field_is_refused_even_under_its_own_checksum(
    field: str, dataset: Path, checkpoint: Path
) -> None:
    tensors, header = read_tensors(checkpoint)
    write_tensors(tensors, {name: value for name, value in header.items() if name != field}, checkpoint)
    refused(dataset, checkpoint, f"does not fit .*{field}")


def test_every_tensor_that_is_missing_misshapen_or_of_another_type_is_refused(
    dataset: Path, checkpoint: Path
) -> None:
    tensors, header = read_tensors(checkpoint)
    assert any(name.startswith("snapshots.") for name in tensors)
    assert any(name.startswith("chosen.test.") for name in tensors)
    run = begun(dataset)
    for name, tensor in tensors.items():
        for change in (
            None,
            tensor.unsqueeze(0),
            torch.cat([tensor, tensor]) if tensor.ndim else tensor.repeat(2),
            tensor.to(torch.float16),
        ):
            others = {other: tensor for other, tensor in tensors.items() if other != name}
            write_tensors(others if change is None else {**others, name: change}, header, checkpoint)
            with pytest.raises(CheckpointError, match=f"does not fit .*{name}"):
                resume(run, checkpoint)
    write_tensors({**tensors, "more": torch.zeros(1)}, header, checkpoint)
    refused(dataset, checkpoint, "more has no place")


def test_slots_of_attention_that_do_not_agree_are_refused(dataset: Path, checkpoint: Path) -> None:
    tensors, header = read_tensors(checkpoint)
    values = tensors["state.attention.values"]
    write_tensors({**tensors, "state.attention.values": torch.cat([values, values], 2)}, header, checkpoint)
    refused(dataset, checkpoint, "does not fit .*state.attention")


def test_a_reshaped_tensor_with_the_same_bytes_is_refused(dataset: Path, checkpoint: Path) -> None:
    tensors, metadata = raw(checkpoint)
    save_file({**tensors, "parameters": tensors["parameters"].flatten()}, checkpoint, metadata=metadata)
    refused(dataset, checkpoint, "checksum")


def test_a_folder_in_its_place_is_refused_and_stays(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    path.mkdir()
    (path / "mine.txt").touch()
    assert not resumable(path, begun(dataset).identity)
    refused(dataset, path, "a folder is in its place")
    with pytest.raises(CheckpointError, match="move or remove it yourself"):
        train(dataset, VARIANT, SETTINGS, tmp_path, start_over=True)
    assert (path / "mine.txt").exists()


def test_random_damage_is_refused(dataset: Path, checkpoint: Path) -> None:
    rng = random.Random(12)
    content = checkpoint.read_bytes()
    run, identity = begun(dataset), begun(dataset).identity
    for number in range(120):
        damaged = bytearray(content)
        match number % 4:
            case 0:  # cut
                damaged = damaged[: rng.randrange(len(content))]
            case 1:  # a bit, in the part that says what follows or anywhere
                at = rng.randrange(len(content) if rng.random() < 0.5 else 4000)
                damaged[at] ^= 1 << rng.randrange(8)
            case 2:  # a stretch of noise
                at = rng.randrange(len(content))
                damaged[at : at + 64] = rng.randbytes(len(damaged[at : at + 64]))
            case _:  # noise alone
                damaged = bytearray(rng.randbytes(rng.randrange(2000)))
        if damaged == content:
            continue
        checkpoint.write_bytes(damaged)
        resumable(checkpoint, identity)
        with pytest.raises(CheckpointError):
            resume(run, checkpoint)


@pytest.mark.parametrize("header", ["", "null", "[]", "{", "[" * 100_000])
def test_a_file_with_no_header_of_ours_is_refused(header: str, dataset: Path, checkpoint: Path) -> None:
    tensors, metadata = raw(checkpoint)
    save_file(tensors, checkpoint, metadata={**metadata, "state": header})
    assert not resumable(checkpoint, begun(dataset).identity)
    refused(dataset, checkpoint, "is damaged")


def as_written_before(path: Path) -> None:
    """Give a file the form of earlier versions."""
    tensors, header = read_tensors(path)
    old = {**header, "sha256": earlier_checksum(tensors)}
    save_file(tensors, path, metadata={"state": json.dumps(old)})


def test_a_checkpoint_of_an_earlier_version_is_refused(dataset: Path, checkpoint: Path) -> None:
    as_written_before(checkpoint)
    assert not resumable(checkpoint, begun(dataset).identity)
    refused(dataset, checkpoint, "of an earlier version")


def test_a_finished_training_of_an_earlier_version_still_lends_its_weights(
    dataset: Path, undisturbed: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(undisturbed, tmp_path / VARIANT.key))
    for name in ("weights", "state"):
        as_written_before(folder / f"{name}.safetensors")
    frequent = variant_with_key("ldg_learned_sparse_freq-bilinear", variants_for(RELATIONS))
    lines: list[str] = []
    train(dataset, frequent, SETTINGS, tmp_path / frequent.key, lines.append)
    assert any("uses the weights of" in line for line in lines)
    train(dataset, VARIANT, SETTINGS, folder, lines.append)
    assert "already trained" in lines[-1]


def test_tensors_come_back_with_their_header(tmp_path: Path) -> None:
    write_tensors({"a": torch.arange(3)}, {"note": "λ"}, tmp_path / "x.safetensors")
    tensors, header = read_tensors(tmp_path / "x.safetensors")
    assert header == {"note": "λ"}
    assert tensors["a"].tolist() == [0, 1, 2]
