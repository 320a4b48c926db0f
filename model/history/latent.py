"""Statistics of a trained LDG: its embeddings and its attention as they stand before an event.

An event moves what LDG has of its two nodes and nothing else. So the way of the embeddings z and of the
attention S along a stream is where they begin, and what each event says of u and v; statistics read them on
the way, each event entering after it was asked about.
"""

from typing import NamedTuple

import numpy as np

from model.history.registry import SCALES, Statistic
from model.stream import Stream
from pipeline.rem_variants import OfLdg

SMALLEST = 1e-12  # keeps logarithms, norms and totals from 0


class Course(NamedTuple):
    """How a trained LDG goes along a stream of T events of N nodes; r edge types, d: width."""

    of_ldg: OfLdg  # what is read of it
    z: np.ndarray  # (N, d) before the first event
    new_z: np.ndarray  # (T, 2, d) of u and v after each event
    attention: np.ndarray  # (N, N, r) before the first event
    new_attention: np.ndarray  # (T, 2, r) what each event puts in place of S_uv and S_vu
    compatibility: np.ndarray  # (d, d) symmetric Ω of communications
    rate: float  # their ψ


def latent_statistics(course: Course) -> tuple[Statistic, ...]:
    """The statistics in the order written."""
    if course.of_ldg == "embeddings":
        names = ["ldg_intensity", "ldg_cosine", "ldg_distance"]
    else:
        edge_types = range(course.attention.shape[2])
        names = [f"ldg_attention_{way}_{edge_type}" for way in ("ab", "ba") for edge_type in edge_types]
    return tuple(Statistic(name, f"ldg_{course.of_ldg}", "between", "plain") for name in names)


class LatentMemory:
    """Embeddings and attention of a trained LDG, as far as a stream was read."""

    def __init__(self, stream: Stream, course: Course, *, by_role: bool) -> None:
        self.stream, self.course, self.by_role = stream, course, by_role
        self.statistics = latent_statistics(course)
        self.z, self.attention = course.z.copy(), course.attention.copy()

    def read(self, chunk: slice, asked: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Let the events of `chunk` enter; statistics (M, 2, C, F) of those asked about.

        `asked` holds for each event its row of `candidates` (M, 2, C), or −1.
        """
        out = np.empty((*candidates.shape, len(self.statistics)), np.float32)
        for event, row in zip(range(chunk.start, chunk.stop), asked.tolist(), strict=True):
            if row >= 0:
                for side, node in enumerate((self.stream.u[event], self.stream.v[event])):
                    acts = side == 0 or not self.by_role
                    self.fill(int(node), acts, candidates[row, side], out[row, side])
            self.enter(event)
        return out

    def ask(self, node: int, now: float, *, acts: bool, others: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Statistics (N, F) of `node` with `others`, nothing entering; they move with events alone."""
        out = np.empty((len(others), len(self.statistics)), np.float32)
        self.fill(node, acts, others, out)
        return out

    def enter(self, event: int) -> None:
        """Move what LDG has of the two nodes of an event."""
        ends = int(self.stream.u[event]), int(self.stream.v[event])
        self.z[list(ends)] = self.course.new_z[event]
        for node, other, new in zip(ends, ends[::-1], self.course.new_attention[event], strict=True):
            row = self.attention[node]  # (N, r)
            row[other] = new
            row /= np.maximum(row.sum(0), SMALLEST)

    def fill(self, node: int, acts: bool, others: np.ndarray, out: np.ndarray) -> None:
        """The statistics of node→other, or other→node, for all `others`: (C, F)."""
        if self.course.of_ldg == "attention":
            both = [self.attention[node, others], self.attention[others, node]]  # (C, r) each
            out[:] = np.log(np.concatenate(both if acts else both[::-1], 1) + SCALES["share"])
            return
        own, near = self.z[node], self.z[others]  # (d), (C, d)
        ratio = near @ (self.course.compatibility @ own) / self.course.rate
        out[:, 0] = np.log(np.maximum(self.course.rate * np.logaddexp(0, ratio), SMALLEST))
        norms = np.linalg.norm(near, axis=1) * np.linalg.norm(own)
        out[:, 1] = near @ own / np.maximum(norms, SMALLEST)
        out[:, 2] = np.linalg.norm(near - own, axis=1)
