"""The training of a variant, from an event table to its output files."""

from pathlib import Path
from typing import Any

import torch

from model.checkpoint import discard
from model.epochs import Log, learn
from model.identity import TrainingSettings, identity, rem_settings
from model.large.rule import is_large
from model.memory import keep_freed_memory
from model.records import curve_rows, fill_from_finished, write_records
from model.rem.settings import RemSettings
from model.run import new_run, resume
from model.stream import load_stream
from pipeline.event_table import read_metadata
from pipeline.lake import read_parquet
from pipeline.rem_variants import RemVariant
from pipeline.results.trained import CHECKPOINT, DATASET, FACTS, finished
from pipeline.sources.own.frame import Frame, event_table_from_frame
from pipeline.variants import Variant, model_named

__all__ = ["TrainingSettings", "train"]


def train(
    dataset_folder: Path | str | Frame,
    variant: Variant | RemVariant | str,
    settings: TrainingSettings | RemSettings,
    folder: Path | str,
    log: Log | None = None,
    start_over: bool = False,
    threads: int = 1,
) -> dict[str, Any]:
    """Train `variant` on the event table in `dataset_folder`, write its files to `folder`, return model.json.

    A variant may be given by its key, for instance `dyrep-bilinear`.

    `dataset_folder` may be a Polars or pandas frame of events with the columns `source`, `target`, `time` and
    perhaps `type`: `event_table_from_frame` writes it as the event table `dataset` in `folder`.

    An interrupted training resumes from its last checkpoint with a bit-identical result. A finished training
    of the same table, variant and settings is not repeated. A checkpoint that does not match raises
    CheckpointError; `start_over` discards it. One thread is the default: two parallel trainings use two cores
    better than one with two threads. A REM takes `RemSettings`; of `TrainingSettings` it uses only the seeds.
    """
    torch.set_num_threads(threads)
    keep_freed_memory()
    folder = Path(folder)
    if not isinstance(dataset_folder, Path | str):
        type_column = "type" if "type" in dataset_folder.columns else None
        dataset_folder = event_table_from_frame(dataset_folder, folder / DATASET, type=type_column)
    dataset_folder = Path(dataset_folder)
    if isinstance(variant, str):
        variant = model_named(variant, read_metadata(dataset_folder)["relations"])
    if isinstance(variant, RemVariant):
        from model.rem.training import train_rem  # imported lazily: compiles with numba

        return train_rem(
            dataset_folder, variant, rem_settings(settings), folder, log, start_over, threads=threads
        )
    if isinstance(settings, RemSettings):
        raise ValueError(f"settings takes TrainingSettings for {variant.key}, not those of a REM")
    stream = load_stream(dataset_folder, variant.relation)
    write_log = log or (lambda _: None)
    if not start_over and (
        summary := finished(folder, identity(stream.name, stream.fingerprint, variant, settings))
    ):
        write_log(f"{variant.key}: already trained on this event table with these settings; nothing to do")
        return summary
    (folder / FACTS).unlink(missing_ok=True)
    path = folder / CHECKPOINT
    if start_over:
        discard(path)
    if is_large(stream.nodes):
        write_log(
            f"{variant.key}: {stream.nodes:,} nodes, by the engine for large networks; the encoder hears "
            f"{settings.senders:,} senders, {settings.ranked:,} events of a period are ranked at most"
        )
    trained = variant.trained_like()
    source = folder.parent / trained.key
    run = new_run(stream, trained, settings)
    run.workspace.threads = threads
    beside = finished(source, run.identity) if variant.frequency else None
    if beside is not None:
        write_log(f"{variant.key}: uses the weights of {trained.key}, trained before")
        fill_from_finished(run, source, beside)
        curves = read_parquet(source / "curves.parquet")
    else:
        if path.exists():
            resume(run, path)
            write_log(f"{variant.key}: goes on from epoch {run.epoch + 1}, event {run.state.position:,}")
        learn(run, path, log)
        curves = curve_rows(run)
    run.variant = variant
    summary = write_records(run, curves, folder, log)
    path.unlink(missing_ok=True)
    return summary
