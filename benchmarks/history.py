"""Statistics, learning and ranking per second, of an event table or of crowds of any size.

    python -m benchmarks.history FOLDER                          # an event table
    python -m benchmarks.history --nodes 3000 100000 --events 1000000   # crowds: see benchmarks.crowd

Processor time of one core, so that a busy machine changes little. The first run compiles for a minute. Of a
crowd the last part is measured, after nine tenths of its events: its memory is what all of them left.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.crowd import TYPES, crowd_stream
from model.history.events import Events, load_events
from model.history.reading import Pass
from model.history.room import to_arrays
from model.history.standard import Standard
from model.rem.candidates import draw_candidates
from model.rem.explain import explain
from model.rem.learning import READ_AT_ONCE, Fit, Sample, learn_epoch, new_fit, read_sample
from model.rem.network import Layout, layout_of
from model.rem.ranking import ROWS_AT_ONCE, rem_ranks
from model.rem.settings import RemSettings
from pipeline.rem_variants import RemVariant

CANDIDATES = 60
SETTINGS = RemSettings(seeds=(0,)).for_events(7_000_000)  # those of a crowd of ten million
STANDARDIZED, PIECE = 1_024, 4_096  # events that tell the standard, and those of a piece of an epoch


def seconds(work: Callable[[], object]) -> float:
    """Processor time of `work`."""
    started = time.process_time()
    work()
    return time.process_time() - started


def read_in_pieces(reading: Pass, positions: np.ndarray, candidates: np.ndarray, at_once: int) -> None:
    """Statistics of `at_once` events at a time, as learning and ranking ask for them."""
    for start in range(0, len(positions), at_once):
        piece = slice(start, start + at_once)
        reading.read(int(positions[piece][-1]) + 1, positions[piece], candidates[piece])


def of_table(folder: Path) -> None:
    """Print events per second from the middle of the stream on."""
    events = load_events(folder)
    stream, settings, variant = events.stream, RemSettings(), RemVariant()
    random = np.random.default_rng(0)
    warm = Pass(events)
    print(f"compiled in {seconds(lambda: warm.read(2, np.arange(2), np.zeros((2, 2, 3), np.int64))):.1f} s")
    half = len(stream) // 2
    reading = Pass(events)
    taken = seconds(lambda: reading.skip(half))
    print(f"observe only: {half / taken:,.0f} events/s")
    positions = np.arange(half, half + 2000)
    candidates = draw_candidates(stream, positions, CANDIDATES, random)
    taken = seconds(lambda: read_in_pieces(reading, positions, candidates, READ_AT_ONCE))
    print(f"truth and {CANDIDATES} candidates each way: {2000 / taken:,.0f} events/s")
    positions = np.arange(half + 2000, half + 2500)
    everyone = np.broadcast_to(np.arange(stream.nodes), (len(positions), 2, stream.nodes))
    at_once = ROWS_AT_ONCE // (2 * stream.nodes)
    taken = seconds(lambda: read_in_pieces(reading, positions, everyone, at_once))
    width = len(reading.statistics)
    print(f"all {stream.nodes} candidates both ways: {500 / taken:,.0f} events/s ({width} statistics)")
    layout = layout_of(variant, settings, reading.statistics)
    weights = new_fit(layout, settings).weights
    ranked = np.arange(half + 2500, half + 2700)
    taken = seconds(lambda: rem_ranks(reading, ranked, weights, layout, lambda _: None))
    rate = 200 * len(settings.seeds) / taken
    print(f"ranking, statistics included: {rate:,.0f} seed-events/s ({len(settings.seeds)} seeds)")


def crowd_events(nodes: int, events: int) -> Events:
    """A crowd as the statistics read it."""
    stream = crowd_stream(nodes, events)
    type_of = np.random.default_rng(0).integers(0, len(TYPES), events)
    midnight = stream.start.weekday() * 86_400.0
    return Events(stream, TYPES, type_of, np.empty((0, 2), np.int64), 0.0, midnight)


class Piece(NamedTuple):
    """A piece of an epoch that was read and learned from: where that leads, and the seconds of both."""

    reading: Pass
    fit: Fit
    reading_seconds: float
    learning_seconds: float


def learn_a_piece(plain: Pass, layout: Layout, random: np.random.Generator) -> Piece:
    """Read a piece of an epoch from where `plain` stands on, after some events that tell its standard."""
    crowd = plain.events
    positions = np.arange(plain.position, plain.position + STANDARDIZED)
    candidates = draw_candidates(crowd.stream, positions, SETTINGS.candidates, random)
    standard = Standard.of(plain.read(int(positions[-1]) + 1, positions, candidates).x)
    reading = Pass(crowd, standard=standard, history=plain.history)
    positions = np.arange(reading.position, reading.position + PIECE)
    samples: list[Sample] = []
    read = seconds(lambda: samples.append(read_sample(reading, positions, SETTINGS, layout, random)))
    fit = new_fit(layout, SETTINGS)
    learned = seconds(lambda: learn_epoch(fit, samples, PIECE, layout, SETTINGS, lambda *_: None))
    return Piece(reading, fit, read, learned)


def event_of_an_epoch(nodes: int, passed: int) -> float:
    """Seconds of processor that an event of a crowd costs one seed, when so many have entered before."""
    reading = Pass(crowd_events(nodes, passed + STANDARDIZED + PIECE))
    reading.skip(passed)
    layout = layout_of(RemVariant(), SETTINGS, reading.statistics)
    piece = learn_a_piece(reading, layout, np.random.default_rng(0))
    return (piece.reading_seconds + piece.learning_seconds) / PIECE


def of_crowd(nodes: int, events: int, ranked: int) -> None:
    """Print what an event of a crowd costs one seed, and the memory that the statistics take."""
    crowd = crowd_events(nodes, events)
    stream = crowd.stream
    reading, random = Pass(crowd), np.random.default_rng(0)
    warm = events * 9 // 10
    taken = seconds(lambda: reading.skip(warm))
    slots = reading.history.sizes
    size = sum(array.nbytes for array in to_arrays(reading.history).values())
    print(f"{nodes:,} nodes, {events:,} events:")
    print(f"  observe only: {warm / taken:,.0f} events/s")
    print(f"  {slots[0] // 2:,} pairs and {slots[1]:,} sequences: {size / 1e9:.2f} GB")
    for candidates in (CANDIDATES, SETTINGS.candidates):
        positions = np.arange(reading.position, reading.position + 1_000)
        drawn = draw_candidates(stream, positions, candidates, random)
        taken = seconds(partial(read_in_pieces, reading, positions, drawn, READ_AT_ONCE))
        print(f"  truth and {candidates} candidates each way: {1_000 / taken:,.0f} events/s")
    layout = layout_of(RemVariant(), SETTINGS, reading.statistics)
    piece = learn_a_piece(reading, layout, random)
    print(f"  a piece of an epoch: {PIECE / piece.reading_seconds:,.0f} events/s")
    print(f"  learning from it, one seed: {PIECE / piece.learning_seconds:,.0f} events/s")
    reading, fit = piece.reading, piece.fit
    if ranked:
        judged = np.arange(reading.position, reading.position + ranked)
        taken = seconds(lambda: rem_ranks(reading, judged, fit.weights, layout, lambda _: None))
        print(f"  exact rank among all, both ways, one seed: {1e3 * taken / ranked:,.0f} ms an event")
        now = float(stream.seconds[reading.position])
        taken = seconds(lambda: explain(reading, fit.weights, layout, int(stream.u[0]), now))
        print(f"  a node's forecast with its reasons: {1e3 * taken:,.0f} ms")
    print(
        f"  most memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", flush=True
    )


def main() -> None:
    """Measure a table or crowds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="of an event table")
    parser.add_argument("--nodes", type=int, nargs="*", default=[])
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--ranked", type=int, default=5, help="events that are ranked among all nodes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.folder is not None:
        of_table(arguments.folder)
    for nodes in arguments.nodes:
        of_crowd(nodes, arguments.events, arguments.ranked)


if __name__ == "__main__":
    main()
