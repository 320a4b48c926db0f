"""Statistics per second, and ranking with all of them: `python -m benchmarks.history <event table folder>`.

Processor time of one core, so that a busy machine changes little. The first run compiles for a minute.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from model.history.events import load_events
from model.history.reading import Pass
from model.rem.candidates import draw_candidates
from model.rem.learning import READ_AT_ONCE, new_fit
from model.rem.network import layout_of
from model.rem.ranking import ROWS_AT_ONCE, rank_events
from model.rem.settings import RemSettings
from pipeline.rem_variants import RemVariant

CANDIDATES = 60


def seconds(work: Callable[[], object]) -> float:
    """Processor time of `work`."""
    started = time.process_time()
    work()
    return time.process_time() - started


def read_in_pieces(reading: Pass, asked: np.ndarray, candidates: np.ndarray, at_once: int) -> None:
    """Statistics of `at_once` events at a time, as learning and ranking ask for them."""
    for start in range(0, len(asked), at_once):
        piece = slice(start, start + at_once)
        reading.read(int(asked[piece][-1]) + 1, asked[piece], candidates[piece])


def main(folder: Path) -> None:
    """Print events per second from the middle of the stream on."""
    torch.set_num_threads(1)
    events = load_events(folder)
    stream, settings, variant = events.stream, RemSettings(), RemVariant()
    random = np.random.default_rng(0)
    warm = Pass(events)
    print(f"compiled in {seconds(lambda: warm.read(2, np.arange(2), np.zeros((2, 2, 3), np.int64))):.1f} s")
    half = len(stream) // 2
    reading = Pass(events)
    taken = seconds(lambda: reading.skip(half))
    print(f"observe only: {half / taken:,.0f} events/s")
    asked = np.arange(half, half + 2000)
    candidates = draw_candidates(stream, asked, CANDIDATES, random)
    taken = seconds(lambda: read_in_pieces(reading, asked, candidates, READ_AT_ONCE))
    print(f"truth and {CANDIDATES} candidates each way: {2000 / taken:,.0f} events/s")
    asked = np.arange(half + 2000, half + 2500)
    everyone = np.broadcast_to(np.arange(stream.nodes), (len(asked), 2, stream.nodes))
    at_once = ROWS_AT_ONCE // (2 * stream.nodes)
    taken = seconds(lambda: read_in_pieces(reading, asked, everyone, at_once))
    width = len(reading.statistics)
    print(f"all {stream.nodes} candidates both ways: {500 / taken:,.0f} events/s ({width} statistics)")
    layout = layout_of(variant, settings, reading.statistics)
    weights = new_fit(layout, settings).weights
    end = half + 2700
    taken = seconds(lambda: rank_events(reading, end, weights, layout, lambda _: None))
    rate = 200 * len(settings.seeds) / taken
    print(f"ranking, statistics included: {rate:,.0f} seed-events/s ({len(settings.seeds)} seeds)")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
