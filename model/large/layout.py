"""The layout of one seed's batch: rows of Z and S that each event reads and writes.

Only nodes that the batch reads have a row. Rows 2b and 2b + 1 are u and v after event b. Rows from 2B on are
nodes before the batch: first those needed for intensities, up to row Q, then those that are only senders, up
to row P, then those that are only neighbours. Hubs have thousands of neighbours, of which only W_h z is
read. B: events, m: senders, E: reads of neighbours, R: rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from model.large.compiled import compiled
from model.large.pages import NOBODY, Pages, Pool, join, pool_with_room, slot_in_row
from model.large.senders import choose_senders
from model.stream import ASSOCIATION
from pipeline.paper_training import NON_EVENTS
from pipeline.variants import Moves

OWN = -1  # role of a read: the node's own row
MOVES: tuple[Moves, ...] = ("never", "with associations", "with every event")
NEVER, WITH_ASSOCIATIONS, WITH_EVENTS = range(3)


class Plan(NamedTuple):
    """Parameter-independent indices of a batch. Dimension 1 holds u and v."""

    width: np.ndarray  # (B, 2) int64: slots of the node's row of S before the event
    width_after: np.ndarray  # (B, 2) int64
    slot: np.ndarray  # (B, 2) int64: the pair's slot in each row, NOBODY if S does not change
    start: np.ndarray  # (B, 2) int64: start of the node's row in the pool
    before: np.ndarray  # (B, 2) int64: 2b + end of the node's last event in the batch, NOBODY for none
    layer: np.ndarray  # (B) int64: depth in the dependency graph of events
    own: np.ndarray  # (B, 2) int64: row of the node before the event
    others: np.ndarray  # (B, 2, NON_EVENTS) int64: rows of the non-event partners
    senders: np.ndarray  # (B, 2, m) int64: rows of the first pass's senders
    weights: np.ndarray  # (B, 2, m): weight of each sender
    near_first: np.ndarray  # (B, 2) int64: start of the node's neighbours in `near`
    near: np.ndarray  # (E) int32: rows of the neighbours, in the order of slots
    read_first: np.ndarray  # (2B + 1) int64: start of each new row's reads in `read_by`
    read_by: np.ndarray  # 2b + end of each read of a new row, except as a neighbour, in event order
    read_as: np.ndarray  # OWN, or the index of the sender


@compiled
def join_pairs(pool: Pool, u: np.ndarray, v: np.ndarray, k: np.ndarray, moves: int, plan: Plan) -> None:
    """Fill widths, starts and slots of every event's pair; allocate slots if it becomes adjacent."""
    for b in range(len(u)):
        for end in range(2):
            plan.width[b, end] = pool.count[v[b] if end else u[b]]
        for end in range(2):
            node, other = (v[b], u[b]) if end else (u[b], v[b])
            slot = NOBODY
            if moves == WITH_EVENTS or (moves == WITH_ASSOCIATIONS and k[b] == ASSOCIATION):
                slot = join(pool, node, other)
            elif moves == WITH_ASSOCIATIONS:
                slot = slot_in_row(pool, node, other)
            plan.slot[b, end] = slot
            plan.width_after[b, end] = pool.count[node]
    for b in range(len(u)):
        plan.start[b, 0], plan.start[b, 1] = pool.first[u[b]], pool.first[v[b]]


@compiled
def claim_row(node: int, local: np.ndarray, touched: np.ndarray, sizes: np.ndarray, new_rows: int) -> int:
    """Return the current row of `node`, allocated on first use."""
    if local[node] == NOBODY:
        local[node] = new_rows + sizes[0]
        touched[sizes[0]] = node
        sizes[0] += 1
    return local[node]


@compiled
def read_nodes(
    ends: np.ndarray,
    others: np.ndarray,
    plan: Plan,
    local: np.ndarray,
    touched: np.ndarray,
    sizes: np.ndarray,
) -> None:
    """Fill the rows of each event's nodes and of its non-event partners."""
    new_rows = 2 * len(ends)
    for b in range(len(ends)):
        for end in range(2):
            row = claim_row(ends[b, end], local, touched, sizes, new_rows)
            plan.own[b, end] = row
            plan.before[b, end] = row if row < new_rows else NOBODY
            for i in range(NON_EVENTS):
                plan.others[b, end, i] = claim_row(others[b, end, i], local, touched, sizes, new_rows)
        local[ends[b, 0]], local[ends[b, 1]] = 2 * b, 2 * b + 1


@compiled
def read_senders(
    pool: Pool,
    ends: np.ndarray,
    words: np.ndarray,
    plan: Plan,
    local: np.ndarray,
    touched: np.ndarray,
    sizes: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Sample the senders of the first pass and fill their rows."""
    new_rows = 2 * len(ends)
    for b in range(len(ends)):
        for end in range(2):
            width, weights = plan.width[b, end], plan.weights[b, end]
            choose_senders(pool, ends[b, end], ends[b, 1 - end], width, words[b, end], chosen, weights)
            for i in range(len(chosen)):
                plan.senders[b, end, i] = claim_row(chosen[i], local, touched, sizes, new_rows)
        local[ends[b, 0]], local[ends[b, 1]] = 2 * b, 2 * b + 1


@compiled
def read_neighbours(
    pool: Pool,
    ends: np.ndarray,
    plan: Plan,
    local: np.ndarray,
    touched: np.ndarray,
    sizes: np.ndarray,
) -> None:
    """Fill the rows of the neighbours and each event's layer."""
    new_rows = 2 * len(ends)
    for b in range(len(ends)):
        layer = 0
        for end in range(2):
            if plan.own[b, end] < new_rows:
                layer = max(layer, plan.layer[plan.own[b, end] // 2] + 1)
            for row in plan.senders[b, end]:
                if row < new_rows:
                    layer = max(layer, plan.layer[row // 2] + 1)
            first, start = plan.near_first[b, end], plan.start[b, end]
            for k in range(plan.width[b, end]):
                row = claim_row(pool.node[start + k], local, touched, sizes, new_rows)
                plan.near[first + k] = row
                if row < new_rows:
                    layer = max(layer, plan.layer[row // 2] + 1)
        plan.layer[b] = layer
        local[ends[b, 0]], local[ends[b, 1]] = 2 * b, 2 * b + 1


@compiled
def before_the_batch(ends: np.ndarray, plan: Plan, local: np.ndarray) -> None:
    """Reset `local` to the rows of nodes before the batch."""
    for b in range(len(ends) - 1, -1, -1):
        for end in range(1, -1, -1):
            local[ends[b, end]] = plan.own[b, end]


@compiled
def fill_reads(plan: Plan, reads: np.ndarray) -> int:
    """Fill `reads` (3, …) with row, reader (2b + end) and role of each read of a new row, in event order.

    Reads of neighbours are excluded. Return the number of reads.
    """
    events, count = len(plan.own), 0
    for b in range(events):
        for end in range(2):
            if plan.own[b, end] < 2 * events:
                reads[0, count], reads[1, count], reads[2, count] = plan.own[b, end], 2 * b + end, OWN
                count += 1
            for i in range(plan.senders.shape[2]):
                row = plan.senders[b, end, i]
                if row < 2 * events:
                    reads[0, count], reads[1, count], reads[2, count] = row, 2 * b + end, i
                    count += 1
    return count


@compiled
def sort_by_row(rows: np.ndarray, first: np.ndarray, order: np.ndarray) -> None:
    """Sort by counting: fill `order` (n) with indices of `rows` (n) by row, `first` (R + 1) with offsets."""
    for row in range(len(first)):
        first[row] = 0
    for i in range(len(rows)):
        first[rows[i] + 1] += 1
    for row in range(len(first) - 1):
        first[row + 1] += first[row]
    for i in range(len(rows)):
        order[first[rows[i]]] = i
        first[rows[i]] += 1
    for row in range(len(first) - 1, 0, -1):
        first[row] = first[row - 1]
    first[0] = 0


class Room:
    """Named buffers reused across batches, because page faults on new memory cost as much as filling it."""

    def __init__(self) -> None:
        self.blocks: dict[str, np.ndarray] = {}

    def __call__(self, name: str, shape: tuple[int, ...], dtype: type = np.int64) -> np.ndarray:
        """Return an uninitialized array."""
        wanted = int(np.prod(shape))
        block = self.blocks.get(name)
        if block is None or len(block) < wanted:
            block = self.blocks[name] = np.empty(wanted + wanted // 4, dtype)
        return block[:wanted].reshape(shape)


@dataclass(frozen=True)
class Layout:
    """A batch's plan, and the nodes whose rows before the batch it reads."""

    plan: Plan
    touched: np.ndarray  # (R − 2B) int64
    asked: int  # Q
    whole: int  # P
    last: np.ndarray  # rows that hold a node after the batch; `moved`: these nodes
    moved: np.ndarray
    node: np.ndarray  # (2B) int64: index in `moved` of each end of each event


def join_and_lay_out(
    pages: Pages,
    row: int,
    ends: np.ndarray,
    kinds: np.ndarray,
    others: np.ndarray,
    words: np.ndarray | None,
    moves: Moves,
    senders: int,
    room: Room,
) -> Layout:
    """Plan the events between `ends` (B, 2); add their new neighbours to the pages of seed `row` in place.

    `others` (B, 2, NON_EVENTS) are non-event partners; `words` (B, 2) are random, None without a first pass.
    """
    u, v = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    if moves != "never":
        pages.pools[row] = pool_with_room(pages.pools[row], ends.reshape(-1))
    pool = pages.pools[row]
    events, nodes = len(ends), len(pool.first)
    size = 0 if words is None else min(senders, nodes - 1)
    two = (events, 2)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("width", "width_after", "slot", "start", "before", "own", "near_first"), two
    )
    shapes |= {"layer": (events,), "others": (*two, NON_EVENTS), "senders": (*two, size)}
    shapes["read_first"] = (2 * events + 1,)
    empty = np.empty(0, np.int64)
    plan = Plan(
        **{name: room(name, shape) for name, shape in shapes.items()},
        weights=room("weights", (*two, size), np.float32),
        near=empty,
        read_by=empty,
        read_as=empty,
    )
    join_pairs(pool, u, v, kinds, MOVES.index(moves), plan)
    until = np.cumsum(plan.width.reshape(-1))
    plan.near_first[:] = (until - plan.width.reshape(-1)).reshape(two)
    most = 2 * events * (size + 1)
    plan = plan._replace(near=room("near", (int(until[-1]),), np.int32))
    if "local" not in room.blocks or len(room.blocks["local"]) < nodes:
        room.blocks["local"] = np.full(nodes, NOBODY, np.int32)
    local = room.blocks["local"]  # (N): all NOBODY between calls
    touched, sizes, rows = room("touched", (nodes,)), np.zeros(1, np.int64), []
    read_nodes(ends, others, plan, local, touched, sizes)
    rows.append(2 * events + int(sizes[0]))
    before_the_batch(ends, plan, local)
    if words is not None:
        read_senders(pool, ends, words, plan, local, touched, sizes, room("chosen", (size,)))
        before_the_batch(ends, plan, local)
    rows.append(2 * events + int(sizes[0]))
    read_neighbours(pool, ends, plan, local, touched, sizes)
    local[touched[: sizes[0]]] = NOBODY
    reads = room("reads", (3, most))
    count = fill_reads(plan, reads)
    order = room("read_order", (count,))
    sort_by_row(reads[0, :count], plan.read_first, order)
    plan = plan._replace(read_by=reads[1][order], read_as=reads[2][order])
    moved, last, node = np.unique(ends.reshape(-1)[::-1], return_index=True, return_inverse=True)
    return Layout(plan, touched[: sizes[0]], *rows, 2 * events - 1 - last, moved, node[::-1])
