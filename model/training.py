"""Training a variant, from an event table to everything kept of it."""

from pathlib import Path
from typing import Any

import torch

from model.checkpoint import discard
from model.identity import TrainingSettings, identity
from model.learning import Log, learn, new_run, resume
from model.records import curve_rows, read_finished, write_records
from model.stream import load_stream
from pipeline.results.trained import finished
from pipeline.variants import Variant

__all__ = ["TrainingSettings", "train"]


def train(
    dataset_folder: Path,
    variant: Variant,
    settings: TrainingSettings,
    folder: Path,
    log: Log | None = None,
    start_over: bool = False,
) -> dict[str, Any]:
    """Train `variant` on the event table in `dataset_folder`, write everything kept of it to `folder`,
    return model.json.

    A training that was killed goes on from its last checkpoint and ends bit-identical to one that was not; a
    finished one of the same table, variant and settings is not repeated (`log` says so). A checkpoint that
    does not fit is refused; `start_over` discards it. Training takes one thread: two trainings side by side
    use two processors better than one training with two.
    """
    torch.set_num_threads(1)
    stream = load_stream(dataset_folder, variant.relation)
    told = log or (lambda _: None)
    if not start_over and (
        known := finished(folder, identity(stream.name, stream.fingerprint, variant, settings))
    ):
        told(f"{variant.key}: already trained on this event table with these settings; nothing to do")
        return known
    (folder / "model.json").unlink(missing_ok=True)
    path = folder / "checkpoint.safetensors"
    if start_over:
        discard(path)
    trained = variant.trained_like()
    source = folder.parent / trained.key
    run = new_run(stream, trained, settings)
    known = finished(source, run.identity) if variant.frequency else None
    if known is not None:
        told(f"{variant.key}: uses the weights of {trained.key}, trained before")
        curves = read_finished(run, source, known)
    else:
        if path.exists():
            resume(run, path)
            told(f"{variant.key}: goes on from epoch {run.epoch + 1}, event {run.state.position:,}")
        learn(run, path, log)
        curves = curve_rows(run)
    run.variant = variant
    summary = write_records(run, curves, folder, log)
    path.unlink(missing_ok=True)
    return summary
