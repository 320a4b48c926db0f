"""The forward pass of one event (eqs. 2–4 and 6–11)."""

import numpy as np

from model.history.prefetch import prefetch
from model.large.arrays import Activations, Form, Network, Tape, Weights
from model.large.compiled import compiled, inlined
from model.large.functions import ONE, ZERO, add_row, copy_row, elu_, exp, sigmoid, total_of
from model.large.layout import NEVER, Plan
from model.large.pages import NOBODY, Pool
from model.large.products import multiply
from model.stream import ASSOCIATION
from pipeline.paper_training import TEMPERATURE as PAPERS_TEMPERATURE

TEMPERATURE = np.float32(PAPERS_TEMPERATURE)
SMALLEST_TOTAL = np.float32(1e-12)
LARGEST_EXPONENT = np.float32(75.0)
LOWEST = np.float32(-1e30)
AHEAD = 12  # distance of prefetching, in neighbours
LINE = 16  # numbers per cache line


@inlined
def two_layers(weights: Network, x: np.ndarray, rows: Activations, at: int | slice) -> None:
    """Apply two ELU layers to `x` (2, d) and write the activations to rows `at`."""
    d, hidden, output = len(weights.b1), rows.hidden[at], rows.output[at]
    multiply(2, d, d, x, weights.w1, hidden)
    elu_(hidden, weights.b1)
    multiply(2, d, d, hidden, weights.w2, output)
    elu_(output, weights.b2)


@compiled
def weigh_neighbours(b: int, end: int, pool: Pool, plan: Plan, tape: Tape) -> None:
    """Compute softmax(S) of a node's row over the neighbours of each edge type."""
    first, start, width = plan.near_first[b, end], plan.start[b, end], plan.width[b, end]
    for t in range(len(tape.softmax)):
        weights = tape.softmax[t, first : first + width]
        values, near = pool.value[t, start : start + width], pool.near[t, start : start + width]
        for k in range(width):
            weights[k] = exp(values[k]) if near[k] else ZERO
        total = max(total_of(weights), SMALLEST_TOTAL)
        for k in range(width):
            weights[k] /= total


@compiled
def feel_neighbours(b: int, end: int, pool: Pool, plan: Plan, tape: Tape) -> None:
    """Max-pool over neighbours (eq. 3), apply the sigmoid, and write to the other node's inputs."""
    first, start, width = plan.near_first[b, end], plan.start[b, end], plan.width[b, end]
    d, types = tape.z.shape[1], len(tape.softmax)
    inputs = tape.inputs[b, 1 - end]
    for t in range(types):
        strongest, largest = tape.strongest[b, end, t], inputs[t * d : (t + 1) * d]
        for f in range(d):
            largest[f], strongest[f] = LOWEST, NOBODY
    for k in range(width):
        if k + AHEAD < width:
            for f in range(0, d, LINE):
                prefetch(tape.projected[plan.near[first + k + AHEAD], f:])
        row = tape.projected[plan.near[first + k]]
        for t in range(types):
            if pool.near[t, start + k]:
                weight, slot = tape.softmax[t, first + k], np.int32(k)
                strongest, largest = tape.strongest[b, end, t], inputs[t * d : (t + 1) * d]
                for f in range(d):
                    product = weight * row[f]
                    more = product > largest[f]
                    largest[f] = product if more else largest[f]
                    strongest[f] = slot if more else strongest[f]
    for t in range(types):
        strongest, largest = tape.strongest[b, end, t], inputs[t * d : (t + 1) * d]
        for f in range(d):
            largest[f] = ZERO if strongest[f] == NOBODY else sigmoid(largest[f])


@compiled
def update_embeddings(b: int, plan: Plan, weights: Weights, tape: Tape) -> None:
    """Compute eq. 2 for u and v, and W_h of their new embeddings."""
    d = tape.z.shape[1]
    felt = tape.inputs.shape[2] - d - 4
    for end in range(2):
        inputs = tape.inputs[b, end]
        copy_row(tape.z[plan.own[b, end]], inputs[felt : felt + d])
        copy_row(tape.waiting[b, end], inputs[felt + d :])
    new = tape.z[2 * b : 2 * b + 2]
    multiply(2, felt + d + 4, d, tape.inputs[b], weights.update, new)
    for end in range(2):
        for f in range(d):
            new[end, f] = sigmoid(new[end, f])
    multiply(2, d, d, new, weights.neighbour, tape.projected[2 * b : 2 * b + 2])


@compiled
def move_by_rule(b: int, kind: int, pool: Pool, plan: Plan, weights: Weights, form: Form, tape: Tape) -> None:
    """Apply DyRep's rule (eq. 4), with the intensity of the embeddings before the event."""
    z_u, z_v = tape.z[plan.own[b, 0]], tape.z[plan.own[b, 1]]
    spare, g = tape.spare[b, 0], ZERO
    if form.bilinear:
        multiply(1, len(spare), len(spare), z_u, weights.symmetric[kind], spare)
        for f in range(len(spare)):
            g += spare[f] * z_v[f]
    else:
        for f in range(len(spare)):
            g += weights.symmetric[kind, 0, f] * (z_u[f] + z_v[f])
    rate = weights.rate[kind]
    exponent = min(max(g / rate, -LARGEST_EXPONENT), LARGEST_EXPONENT)
    intensity = rate * np.log1p(np.exp(exponent))
    for end in range(2):
        slot, start, width = plan.slot[b, end], plan.start[b, end], plan.width_after[b, end]
        row, near = pool.value[0, start : start + width], pool.near[0, start : start + width]
        share = ONE / np.float32(width)
        if kind == ASSOCIATION:
            before = plan.width[b, end]
            loss = (ONE / np.float32(before) if before else ZERO) - share
            for k in range(width):
                row[k] = row[k] - loss if row[k] != ZERO else ZERO
        row[slot], near[slot] = share + intensity, True
        total = total_of(row)
        for k in range(width):
            row[k] /= total


@compiled
def hear_senders(b: int, end: int, plan: Plan, weights: Weights, form: Form, tape: Tape) -> None:
    """Compute eq. 8 for edges from the senders into a node, and their weighted sum for eq. 9."""
    d = tape.z.shape[1]
    receiver, sent = tape.node1.output[plan.own[b, end]], tape.sent[b, end]
    hidden, edges, mean = tape.edge1.hidden[b, end], tape.edge1.output[b, end], tape.mean[b, end]
    size = len(sent)
    for i in range(size):
        copy_row(tape.node1.output[plan.senders[b, end, i]], sent[i])
    if form.bilinear_pairs:
        multiply(1, d, d * d, receiver, weights.edge1.w1, tape.mixed[b, end])
        multiply(size, d, d, sent, tape.mixed[b, end], hidden)
        elu_(hidden, weights.edge1.b1)
    else:
        multiply(1, d, d, receiver, weights.edge1.w1[d:], tape.offset[b, end])
        add_row(weights.edge1.b1, tape.offset[b, end])
        multiply(size, d, d, sent, weights.edge1.w1[:d], hidden)
        elu_(hidden, tape.offset[b, end])
    multiply(size, d, d, hidden, weights.edge1.w2, edges)
    elu_(edges, weights.edge1.b2)
    multiply(1, size, d, plan.weights[b, end], edges, mean)


@compiled
def judge_pair(b: int, plan: Plan, weights: Weights, form: Form, tape: Tape) -> None:
    """Compute the logits of S_uv and S_vu (eqs. 8–10)."""
    d = tape.z.shape[1]
    if form.passes == 2:
        for end in range(2):
            hear_senders(b, end, plan, weights, form, tape)
        two_layers(weights.node2, tape.mean[b], tape.node2, b)
    pair, hidden, output = tape.pair[b], tape.last.hidden[b], tape.last.output[b]
    for edge in range(2):
        for side in range(2):
            end = edge if side == 0 else 1 - edge
            state = tape.node2.output[b, end] if form.passes == 2 else tape.node1.output[plan.own[b, end]]
            copy_row(state, pair[edge, side * d : (side + 1) * d])
        if form.passes == 2:
            first = tape.edge1.output[b, 1 - edge, 0]  # into the receiver, from its partner
            copy_row(first, pair[edge, 2 * d :])
    if form.bilinear_pairs:
        for edge in range(2):
            multiply(1, d, d * d, pair[edge, d : 2 * d], weights.last.w1, tape.mixed2[b, edge])
            multiply(1, d, d, pair[edge, :d], tape.mixed2[b, edge], hidden[edge])
            if form.passes == 2:
                multiply(1, d, d, pair[edge, 2 * d :], weights.skip, tape.spare[b, edge])
                add_row(tape.spare[b, edge], hidden[edge])
    else:
        multiply(2, pair.shape[1], d, pair, weights.last.w1, hidden)
    elu_(hidden, weights.last.b1)
    multiply(2, d, d, hidden, weights.last.w2, output)
    elu_(output, weights.last.b2)
    multiply(2, d, len(weights.out_b), output, weights.out_w, tape.logits[b])
    for edge in range(2):
        add_row(weights.out_b, tape.logits[b, edge])


@compiled
def move_by_sample(b: int, pool: Pool, plan: Plan, tape: Tape) -> None:
    """Sample S_uv and S_vu (eq. 11), normalize rows u and v, and make the pair neighbours."""
    types = len(tape.softmax)
    for end in range(2):
        logits, noise, soft = tape.logits[b, end], tape.noise[b, end], tape.soft[b, end]
        largest = LOWEST
        for t in range(len(soft)):
            soft[t] = (logits[t] + noise[t]) / TEMPERATURE
            largest = max(largest, soft[t])
        total = ZERO
        for t in range(len(soft)):
            soft[t] = exp(soft[t] - largest)
            total += soft[t]
        for t in range(len(soft)):
            soft[t] /= total
        slot, start, width = plan.slot[b, end], plan.start[b, end], plan.width_after[b, end]
        first = tape.after_first[b, end]
        for t in range(types):
            row = pool.value[t, start : start + width]
            row[slot] = soft[len(soft) - types + t]
            pool.near[t, start + slot] = True
            total = max(total_of(row), SMALLEST_TOTAL)
            tape.totals[b, end, t] = total
            for k in range(width):
                row[k] /= total
            if first != NOBODY:
                copy_row(row, tape.after[t, first : first + width])


@compiled
def forward_event(
    b: int, kind: int, pool: Pool, plan: Plan, weights: Weights, form: Form, tape: Tape
) -> None:
    """Process event `b`: write rows 2b and 2b + 1 of Z, W_h Z and h¹; update rows u and v of S."""
    for end in range(2):
        weigh_neighbours(b, end, pool, plan, tape)
        feel_neighbours(b, end, pool, plan, tape)
    update_embeddings(b, plan, weights, tape)
    if form.passes:
        judge_pair(b, plan, weights, form, tape)
        move_by_sample(b, pool, plan, tape)
        new = slice(2 * b, 2 * b + 2)
        two_layers(weights.node1, tape.z[new], tape.node1, new)
    elif form.moves != NEVER and plan.slot[b, 0] != NOBODY:
        move_by_rule(b, kind, pool, plan, weights, form, tape)
