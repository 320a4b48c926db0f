"""Which events of a day's files are copies of events that another file has: the files' keys alone decide."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pipeline.sources.gharchive.reading import IGNORED, KEPT, QUARANTINED


@dataclass(frozen=True)
class Holding:
    """The identities, (2, events) each, of what could be read in a file and of what is quarantined."""

    read: np.ndarray
    unread: np.ndarray


@dataclass(frozen=True)
class Copies:
    """What of a reading belongs to another file: rows of its two tables, and how many ignored events."""

    kept: np.ndarray
    ignored: int
    quarantined: np.ndarray


def holding(keys: np.ndarray) -> Holding:
    """What a file holds, from the keys of its reading."""
    is_unread = keys[2] == QUARANTINED
    return Holding(keys[:2, ~is_unread], keys[:2, is_unread])


def copies_elsewhere(
    readings: Iterable[np.ndarray], before: list[Holding], after: list[Holding]
) -> list[Copies]:
    """For the keys of each reading of a day, in order: what belongs to another reading or to a neighbour.

    An event belongs to the earliest file in which it can be read, and if there is none to the earliest that
    holds it. `before` and `after` are the files around the day. Readings may be loaded one by one: only their
    identities are held on to.
    """
    holdings = list(before)
    rows_unread = []
    copies_read = []
    for keys in readings:
        fate, row = keys[2:]
        is_unread = fate == QUARANTINED
        held = _among(keys[:2, ~is_unread], [other.read for other in holdings])
        fate, row, row_unread = fate[~is_unread][held], row[~is_unread][held], row[is_unread]
        copies_read.append((row[fate == KEPT], int(np.count_nonzero(fate == IGNORED))))
        rows_unread.append(row_unread)
        holdings.append(holding(keys))
    read_anywhere = [other.read for other in (*holdings, *after)]
    copies = []
    read_and_unread = zip(copies_read, rows_unread, strict=True)
    for at, ((event_rows, ignored), unread_rows) in enumerate(read_and_unread, len(before)):
        earlier = [other.unread for other in holdings[:at]]
        held = _among(holdings[at].unread, [*read_anywhere, *earlier])
        copies.append(Copies(event_rows, ignored, unread_rows[held]))
    return copies


def _among(identities: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Which of the identities are among any of the others: one boolean each."""
    held = np.zeros(identities.shape[1], dtype=bool)
    for other in others:
        if other.shape[1] and len(held):
            at = np.minimum(np.searchsorted(other[0], identities[0]), other.shape[1] - 1)
            held |= (other[:, at] == identities).all(axis=0)
    return held
