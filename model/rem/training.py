"""Training of a relational-event model, from an event table to all stored files."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model.checkpoint import check_identity, discard, read_tensors, write_tensors
from model.history.events import Events, load_events, statistics_of_events
from model.history.reading import Pass
from model.rem.learning import (
    Fit,
    ahead,
    events_to_learn,
    learn_epoch,
    learned_events,
    make_samples,
    new_fit,
    take_standard,
)
from model.rem.network import Layout, layout_of
from model.rem.ranking import positions_to_rank, rem_ranks
from model.rem.records import Chosen, write_rem_records
from model.rem.settings import RemSettings, rem_identity
from model.rem.standard import standard_of, standard_tensors
from model.stream import COMMUNICATION
from pipeline.progress import Progress
from pipeline.rem_variants import RemVariant
from pipeline.results.trained import CHECKPOINT, FACTS, finished

Log = Callable[[str], None]
CHOOSING, FINAL = 0, 1


class Training:
    """A training in two stages: on the training period to choose epochs, then on training and validation.

    `chosen[stage]` holds each seed's weights at its chosen epoch: in the first stage, that with the lowest
    validation MAR so far; in the final stage, the same epoch.
    """

    def __init__(self, events: Events, variant: RemVariant, settings: RemSettings) -> None:
        self.events, self.variant = events, variant
        self.stage = CHOOSING
        self.settings = settings.for_events(len(learned_events(events.stream, 0, events.stream.splits[0])))
        self.identity = rem_identity(events.stream.name, events.stream.fingerprint, variant, settings)
        self.layout: Layout = layout_of(variant, settings, statistics_of_events(events))
        self.fit: Fit = new_fit(self.layout, settings)
        self.measured: list[list[float]] = []  # validation MAR of each epoch and seed
        self.losses: list[np.ndarray] = []
        self.chosen = [Chosen.nothing(self.fit.weights, events.stream, settings.seeds) for _ in range(2)]
        self.seconds = 0.0

    @property
    def done(self) -> bool:
        """Return whether the final weights exist."""
        return self.stage > FINAL

    @property
    def current(self) -> dict[str, torch.Tensor]:
        """Weights at the end of an epoch: averaged ones if the settings ask for them."""
        return self.fit.averaged if self.settings.averaging else self.fit.weights

    def chosen_epochs(self) -> list[int]:
        """Return each seed's epoch with the lowest validation MAR, from 1; the first of equals."""
        return [int(epoch) + 1 for epoch in np.argmin(np.array(self.measured), axis=0)]

    def epoch(self, log: Log | None = None) -> None:
        """Train for one epoch; then measure it or, in the final stage, store the seeds that chose it."""
        started = time.perf_counter()
        validation, test = self.events.stream.splits
        end = validation if self.stage == CHOOSING else test
        count = len(events_to_learn(self.events.stream, self.settings, end))
        label = f"{self.variant.key}: epoch {self.fit.epoch + 1}/{self.settings.epochs}"
        with Progress(label, count, "events", log) as progress:
            take_standard(self.fit, self.events, self.variant, self.settings, end)
            samples = ahead(
                make_samples(self.events, self.variant, self.settings, self.layout, self.fit, end)
            )
            learn_epoch(self.fit, samples, count, self.layout, self.settings, progress.advance)
        if self.stage == CHOOSING:
            self.measure()
        else:
            here = [number for number, epoch in enumerate(self.chosen_epochs()) if epoch == self.fit.epoch]
            self.chosen[FINAL].take(here, self.current, self.fit.standard, None)
        if self.fit.epoch == self.settings.epochs:
            if self.stage == CHOOSING:
                self.losses = self.fit.losses
            self.fit = new_fit(self.layout, self.settings)
            self.stage += 1
        self.seconds += time.perf_counter() - started

    def measure(self) -> None:
        """Rank validation with the current weights; store them for the seeds whose best epoch this is."""
        stream = self.events.stream
        validation, test = stream.splits
        standard = self.fit.standard
        assert standard is not None
        reading = Pass(self.events, by_role=self.variant.by_role, standard=standard)
        reading.skip(validation)
        ranked = positions_to_rank(stream, validation, test)
        ranks = rem_ranks(reading, ranked, self.current, self.layout, lambda _: None)
        communications = stream.k[ranked] == COMMUNICATION
        mar = ranks[:, communications].mean(axis=(1, 2)) if communications.any() else np.zeros(len(ranks))
        self.measured.append(mar.tolist())
        here = [n for n, epoch in enumerate(self.chosen_epochs()) if epoch == len(self.measured)]
        self.chosen[CHOOSING].take(here, self.current, standard, ranks)

    def save(self, path: Path) -> None:
        """Write a checkpoint with everything needed to resume."""
        fit = self.fit
        tensors = {f"weights.{name}": tensor for name, tensor in fit.weights.items()}
        tensors |= {f"averaged.{name}": tensor for name, tensor in fit.averaged.items()}
        for name, moments in fit.moments.items():
            tensors |= {f"moment.{number}.{name}": moment for number, moment in enumerate(moments)}
        for stage, chosen in enumerate(self.chosen):
            tensors |= {f"chosen.{stage}.{name}": tensor for name, tensor in chosen.tensors().items()}
        if fit.standard is not None:
            tensors |= standard_tensors(fit.standard)
        for name, losses in (("losses", self.losses), ("fit_losses", fit.losses)):
            if losses:
                tensors[name] = torch.from_numpy(np.stack(losses))
        header = {
            "identity": self.identity,
            "stage": self.stage,
            "epoch": fit.epoch,
            "steps": fit.steps,
            "measured": self.measured,
            "seconds": self.seconds,
        }
        write_tensors(tensors, header, path)

    def resume(self, path: Path) -> None:
        """Resume from a checkpoint; raise CheckpointError if it belongs to another training."""
        tensors, header = read_tensors(path)
        check_identity(header["identity"], self.identity, path)
        fit = self.fit
        for name in fit.weights:
            fit.weights[name], fit.averaged[name] = tensors[f"weights.{name}"], tensors[f"averaged.{name}"]
            fit.moments[name] = (tensors[f"moment.0.{name}"], tensors[f"moment.1.{name}"])
        fit.standard = standard_of(tensors)
        fit.epoch, fit.steps = header["epoch"], header["steps"]
        for stage, chosen in enumerate(self.chosen):
            prefix = f"chosen.{stage}."
            chosen.fill(
                {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            )
        self.losses = list(tensors["losses"].numpy()) if "losses" in tensors else []
        fit.losses = list(tensors["fit_losses"].numpy()) if "fit_losses" in tensors else []
        self.stage, self.measured, self.seconds = header["stage"], header["measured"], header["seconds"]


def train_rem(
    dataset_folder: Path,
    variant: RemVariant,
    settings: RemSettings,
    folder: Path,
    log: Log | None = None,
    start_over: bool = False,
    threads: int = 1,
) -> dict[str, Any]:
    """Train `variant` on the event table in `dataset_folder`, write all files and return model.json.

    A training that was killed resumes after its last complete epoch and ends bit-identical to an
    uninterrupted one; a finished one of the same table, variant and settings is not repeated.
    """
    torch.set_num_threads(threads)
    events = load_events(dataset_folder)
    training = Training(events, variant, settings)
    if not start_over and (facts := finished(folder, training.identity)):
        if log is not None:
            log(f"{variant.key}: already trained on this event table with these settings; nothing to do")
        return facts
    (folder / FACTS).unlink(missing_ok=True)
    path = folder / CHECKPOINT
    if start_over:
        discard(path)
    if path.exists():
        training.resume(path)
        if log is not None:
            log(f"{variant.key}: goes on from epoch {training.fit.epoch + 1}")
    while not training.done:
        training.epoch(log)
        training.save(path)
    summary = write_rem_records(
        events=training.events,
        variant=variant,
        layout=training.layout,
        settings=settings,
        identity=training.identity,
        chosen=training.chosen,
        measured=training.measured,
        losses=training.losses,
        seconds=training.seconds,
        folder=folder,
        log=log,
    )
    path.unlink(missing_ok=True)
    return json.loads(json.dumps(summary))
