"""The backward pass of one event: gradients of its inputs from those of its output rows.

`d_x` is the gradient of the loss with respect to `x`. An event stores the gradients of its inputs in its own
memory; the event that wrote a row sums them, in the order of events, during its own backward pass.
"""

from model.large.arrays import Activations, Form, Gradients, Network, Tape, Weights
from model.large.compiled import compiled, inlined
from model.large.felt import Felt
from model.large.forward import TEMPERATURE
from model.large.functions import ONE, ZERO, add_row, copy_row, elu_gradient_, fill, product_of
from model.large.layout import OWN, Plan
from model.large.pages import NOBODY
from model.large.products import multiply_by_transposed, multiply_transposed


@inlined
def undo_network(weights: Network, rows: Activations, d_rows: Activations, at: int | slice) -> None:
    """Compute gradients of rows `at` (2, d) before both ELUs, in place, from that after the second."""
    d, d_hidden, d_output = len(weights.b1), d_rows.hidden[at], d_rows.output[at]
    elu_gradient_(d_output, rows.output[at])
    multiply_by_transposed(2, d, d, d_output, weights.w2, d_hidden)
    elu_gradient_(d_hidden, rows.hidden[at])


@inlined
def collect_felt(row: int, felt: Felt, grads: Gradients) -> None:
    """Sum the gradient of W_h z of a row over all maxima in which it is the argmax neighbour."""
    _, _, types, d = grads.d_near.shape
    d_projected = grads.d_projected[row]
    fill(d_projected, ZERO)
    for at in range(felt.first[row], felt.first[row + 1]):
        place = felt.by[at]
        reader, t, f = place // (types * d), place // d % types, place % d
        d_projected[f] += grads.d_near[reader // 2, reader % 2, t, f]


@compiled
def collect(b: int, plan: Plan, felt: Felt, form: Form, tape: Tape, grads: Gradients) -> None:
    """Sum the gradients of rows 2b and 2b + 1 of Z, W_h Z and h¹ over all their reads."""
    d = tape.z.shape[1]
    own = tape.inputs.shape[2] - d - 4
    for row in range(2 * b, 2 * b + 2):
        d_z = grads.d_z[row]
        collect_felt(row, felt, grads)
        d_h1 = grads.d_h1[row] if form.passes else d_z  # unused without an encoder
        if form.passes:
            fill(d_h1, ZERO)
        for read in range(plan.read_first[row], plan.read_first[row + 1]):
            reader, role = plan.read_by[read] // 2, plan.read_as[read]
            end = plan.read_by[read] % 2
            if role == OWN:
                add_row(grads.d_inputs[reader, end, own : own + d], d_z)
                if form.passes:
                    add_row(grads.d_own[reader, end], d_h1)
            else:
                add_row(grads.d_sent[reader, end, role], d_h1)


@compiled
def undo_sample(b: int, plan: Plan, tape: Tape, grads: Gradients) -> None:
    """Backpropagate eq. 11 for u and v, from the gradients of their rows after the event."""
    types = len(tape.softmax)
    for end in range(2):
        slot, width = plan.slot[b, end], plan.width_after[b, end]
        first, start = tape.after_first[b, end], grads.row_first[b, end]
        soft, d_out = tape.soft[b, end], grads.d_out[b, end]
        fill(d_out, ZERO)
        if first != NOBODY:  # else no event of the batch reads the row
            for t in range(types):
                d_row = grads.d_rows[t, start : start + width]
                common = product_of(d_row, tape.after[t, first : first + width])
                grads.d_common[b, end, t] = common
                d_out[len(soft) - types + t] = (d_row[slot] - common) / tape.totals[b, end, t]
        common = ZERO
        for t in range(len(soft)):
            common += soft[t] * d_out[t]
        for t in range(len(soft)):
            d_out[t] = soft[t] * (d_out[t] - common) / TEMPERATURE + grads.d_logits[b, end, t]


@compiled
def undo_last_edges(b: int, weights: Weights, form: Form, tape: Tape, grads: Gradients) -> None:
    """Backpropagate eq. 10 (eq. 8 with one pass): gradients of the last edge network's inputs."""
    d = tape.z.shape[1]
    pair, d_pair = tape.pair[b], grads.d_pair[b]
    multiply_by_transposed(2, len(weights.out_b), d, grads.d_out[b], weights.out_w, grads.d_last.output[b])
    undo_network(weights.last, tape.last, grads.d_last, b)
    d_sums = grads.d_last.hidden[b]
    if not form.bilinear_pairs:
        multiply_by_transposed(2, d, pair.shape[1], d_sums, weights.last.w1, d_pair)
        return
    for edge in range(2):
        d_mixed = grads.d_mixed2[b, edge]
        for i in range(d):
            for f in range(d):
                d_mixed[i, f] = pair[edge, i] * d_sums[edge, f]
        multiply_by_transposed(1, d, d, d_sums[edge], tape.mixed2[b, edge], d_pair[edge, :d])
        multiply_by_transposed(1, d * d, d, d_mixed, weights.last.w1, d_pair[edge, d : 2 * d])
        if form.passes == 2:
            multiply_by_transposed(1, d, d, d_sums[edge], weights.skip, d_pair[edge, 2 * d :])


@compiled
def undo_senders(
    b: int, end: int, plan: Plan, weights: Weights, form: Form, tape: Tape, grads: Gradients
) -> None:
    """Backpropagate eq. 8 for edges into a node: gradients of h¹ of the senders and of the receiver."""
    d = tape.z.shape[1]
    d_edges, d_sums = grads.d_edge1.output[b, end], grads.d_edge1.hidden[b, end]
    d_mean = grads.d_mean[b, end]
    for i in range(len(d_edges)):
        weight = plan.weights[b, end, i]
        for f in range(d):
            d_edges[i, f] = weight * d_mean[f]
    # The partner's edge is also the pair's first-pass edge.
    add_row(grads.d_pair[b, 1 - end, 2 * d :], d_edges[0])
    elu_gradient_(d_edges, tape.edge1.output[b, end])
    size = len(d_edges)
    multiply_by_transposed(size, d, d, d_edges, weights.edge1.w2, d_sums)
    elu_gradient_(d_sums, tape.edge1.hidden[b, end])
    if form.bilinear_pairs:
        d_mixed = grads.d_mixed[b, end]
        multiply_transposed(d, size, d, tape.sent[b, end], d_sums, d_mixed)
        multiply_by_transposed(size, d, d, d_sums, tape.mixed[b, end], grads.d_sent[b, end])
        multiply_by_transposed(1, d * d, d, d_mixed, weights.edge1.w1, grads.d_own[b, end])
    else:
        d_offset = grads.d_offset[b, end]
        fill(d_offset, ZERO)
        for i in range(size):
            add_row(d_sums[i], d_offset)
        multiply_by_transposed(size, d, d, d_sums, weights.edge1.w1[:d], grads.d_sent[b, end])
        multiply_by_transposed(1, d, d, d_offset, weights.edge1.w1[d:], grads.d_own[b, end])


@compiled
def undo_encoder(b: int, plan: Plan, weights: Weights, form: Form, tape: Tape, grads: Gradients) -> None:
    """Backpropagate eqs. 8–10: gradients of h¹ of u and v and, with two passes, of the senders."""
    d = tape.z.shape[1]
    undo_last_edges(b, weights, form, tape, grads)
    d_pair = grads.d_pair[b]
    for end in range(2):  # sender of its own edge, receiver of the other
        d_state = grads.d_node2.output[b, end] if form.passes == 2 else grads.d_own[b, end]
        for f in range(d):
            d_state[f] = d_pair[end, f] + d_pair[1 - end, d + f]
    if form.passes == 2:
        undo_network(weights.node2, tape.node2, grads.d_node2, b)
        multiply_by_transposed(2, d, d, grads.d_node2.hidden[b], weights.node2.w1, grads.d_mean[b])
        for end in range(2):
            undo_senders(b, end, plan, weights, form, tape, grads)


@compiled
def undo_rows(b: int, end: int, plan: Plan, tape: Tape, grads: Gradients) -> None:
    """Backpropagate normalization and softmax of a node's row of S: `d_rows` becomes that before the event.

    `d_near` holds the gradients of the maximal products softmax(S)·W_h z of eq. 3. Only argmax neighbours
    have one, but through softmax all entries of the row get a gradient.
    """
    width, slot = plan.width[b, end], plan.slot[b, end]
    first, start = plan.near_first[b, end], grads.row_first[b, end]
    for t in range(len(tape.softmax)):
        softmax, d_row = tape.softmax[t, first : first + width], grads.d_rows[t, start : start + width]
        strongest, d_products = tape.strongest[b, end, t], grads.d_near[b, end, t]
        common = ZERO
        for f in range(len(d_products)):
            if strongest[f] != NOBODY:
                row = plan.near[first + strongest[f]]
                common += softmax[strongest[f]] * d_products[f] * tape.projected[row, f]
        if tape.after_first[b, end] == NOBODY:
            for k in range(width):
                d_row[k] = -softmax[k] * common
        else:
            total, taken = tape.totals[b, end, t], grads.d_common[b, end, t]
            for k in range(width):
                d_row[k] = (d_row[k] - taken) / total - softmax[k] * common
            if slot < width:  # overwritten by the sample: no gradient through its old value
                d_row[slot] = -softmax[slot] * common
        for f in range(len(d_products)):
            if strongest[f] != NOBODY:
                row = plan.near[first + strongest[f]]
                d_row[strongest[f]] += softmax[strongest[f]] * d_products[f] * tape.projected[row, f]


@compiled
def undo_update(b: int, plan: Plan, weights: Weights, form: Form, tape: Tape, grads: Gradients) -> None:
    """Backpropagate eqs. 2 and 3: gradients of the inputs, of the argmax neighbours and, if S is learned, of
    its rows before the event.
    """
    d, types = tape.z.shape[1], len(tape.softmax)
    new, d_update = tape.z[2 * b : 2 * b + 2], grads.d_update[b]
    for end in range(2):
        for f in range(d):
            d_update[end, f] = grads.d_z[2 * b + end, f] * new[end, f] * (ONE - new[end, f])
    multiply_by_transposed(2, d, tape.inputs.shape[2], d_update, weights.update, grads.d_inputs[b])
    for end in range(2):
        first = plan.near_first[b, end]
        for t in range(types):
            strongest, d_near = tape.strongest[b, end, t], grads.d_near[b, end, t]
            for f in range(d):
                felt = tape.inputs[b, 1 - end, t * d + f]
                d_near[f] = grads.d_inputs[b, 1 - end, t * d + f] * felt * (ONE - felt)
        if form.passes and plan.before[b, end] != NOBODY:
            undo_rows(b, end, plan, tape, grads)
        for t in range(types):
            strongest, d_near = tape.strongest[b, end, t], grads.d_near[b, end, t]
            for f in range(d):
                d_near[f] = (
                    ZERO if strongest[f] == NOBODY else d_near[f] * tape.softmax[t, first + strongest[f]]
                )


@compiled
def backward_event(
    b: int, plan: Plan, felt: Felt, weights: Weights, form: Form, tape: Tape, grads: Gradients
) -> None:
    """Backpropagate event `b`; every event that read its rows must be done."""
    collect(b, plan, felt, form, tape, grads)
    new, d = slice(2 * b, 2 * b + 2), tape.z.shape[1]
    spare, d_z = tape.spare[b], grads.d_z[new]
    multiply_by_transposed(2, d, d, grads.d_projected[new], weights.neighbour, spare)
    for end in range(2):
        add_row(spare[end], d_z[end])
    if form.passes:
        d_h1, d_output = grads.d_h1[new], grads.d_node1.output[new]
        for end in range(2):
            copy_row(d_h1[end], d_output[end])
        undo_network(weights.node1, tape.node1, grads.d_node1, new)
        multiply_by_transposed(2, d, d, grads.d_node1.hidden[new], weights.node1.w1, spare)
        for end in range(2):
            add_row(spare[end], d_z[end])
        undo_sample(b, plan, tape, grads)
        undo_encoder(b, plan, weights, form, tape, grads)
    undo_update(b, plan, weights, form, tape, grads)


@compiled
def collect_before(plan: Plan, felt: Felt, form: Form, grads: Gradients) -> None:
    """Sum the gradients of W_h Z and h¹ of rows before the batch, in the order of events."""
    new_rows = 2 * len(plan.own)
    for row in range(new_rows, len(grads.d_projected)):
        collect_felt(row, felt, grads)
    if not form.passes:
        return
    for row in range(new_rows, len(grads.d_h1)):
        fill(grads.d_h1[row], ZERO)
    for b in range(len(plan.own)):
        for end in range(2):
            if plan.own[b, end] >= new_rows:
                add_row(grads.d_own[b, end], grads.d_h1[plan.own[b, end]])
            for i in range(plan.senders.shape[2]):
                if plan.senders[b, end, i] >= new_rows:
                    add_row(grads.d_sent[b, end, i], grads.d_h1[plan.senders[b, end, i]])
