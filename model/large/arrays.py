"""What the compiled loop over a batch reads and leaves behind, as plain arrays of single precision.

Every event has memory of its own for all that it computes: events that do not need one another may run in any
order, and on any thread, without a bit's difference. B: events, m: senders, d: width, r: edge
types, r': those of the prior, I = r·d + d + 4. Dimension 1 holds u and v, or the edges (u, v) and (v, u).
P, Q, R: rows as in `model.large.layout`; G: rows before the batch that are felt (`model.large.felt`).
"""

from typing import NamedTuple

import numpy as np


class Network(NamedTuple):
    """Two ELU layers."""

    w1: np.ndarray
    b1: np.ndarray  # (d)
    w2: np.ndarray  # (d, d)
    b2: np.ndarray  # (d)


class Activations(NamedTuple):
    """Rows after both ELUs of a network; as a gradient, `d_…`, before them."""

    hidden: np.ndarray
    output: np.ndarray


class Weights(NamedTuple):
    """Parameters of one seed. A bilinear edge network has its first layer folded: w1 is (d, d·d)."""

    update: np.ndarray  # (I, d)
    neighbour: np.ndarray  # (d, d)
    symmetric: np.ndarray  # (2, d, d) bilinear, (2, 1, d) concat
    rate: np.ndarray  # (2)
    node1: Network
    edge1: Network  # of the incoming edges, with two passes
    node2: Network
    last: Network  # f_edge² with two passes, f_edge¹ with one
    skip: np.ndarray  # (d, d): what the last network takes of the first-pass edge, if its pair is bilinear
    out_w: np.ndarray  # (d, r')
    out_b: np.ndarray  # (r')


class Tape(NamedTuple):
    """What the batch computes."""

    waiting: np.ndarray  # (B, 2, 4): given
    noise: np.ndarray  # (B, 2, r'): given, zeros outside training
    z: np.ndarray  # (P, d): versions of rows of Z; those before the batch are given, as in the next two
    projected: np.ndarray  # (R, d): W_h z
    node1: Activations  # (P, d): of f_node¹; its output is h¹
    softmax: np.ndarray  # (r, E): of S, for each read of a neighbour
    strongest: np.ndarray  # (B, 2, r, d) int32: slot of the maximum of eq. 3, NOBODY without neighbours
    inputs: np.ndarray  # (B, 2, I): of eq. 2; the part of neighbours is that of the other node
    mixed: np.ndarray  # (B, 2, d, d): the bilinear map of the receiver
    sent: np.ndarray  # (B, 2, m, d): h¹ of the senders
    edge1: Activations  # (B, 2, m, d): of the incoming edges, with two passes
    offset: np.ndarray  # (B, 2, d): what the receiver adds to every edge, if its pair is concatenated
    mean: np.ndarray  # (B, 2, d)
    node2: Activations  # (B, 2, d): of f_node²; its output is h²
    pair: np.ndarray  # (B, 2, t): sender, receiver, with two passes the first-pass edge
    mixed2: np.ndarray  # (B, 2, d, d)
    last: Activations  # (B, 2, d): of the last edge network
    logits: np.ndarray  # (B, 2, r')
    soft: np.ndarray  # (B, 2, r')
    after_first: np.ndarray  # (B, 2) int64: where the row begins in `after`, NOBODY if no event comes after
    after: np.ndarray  # (r, A): rows of S after the event, of nodes that have a further one in the batch
    totals: np.ndarray  # (B, 2, r): what they were divided by
    spare: np.ndarray  # (B, 2, d)


class Gradients(NamedTuple):
    """What walking back through the batch computes; `d_z` and `d_logits` of the loss are given."""

    d_z: np.ndarray  # (2B, d)
    d_logits: np.ndarray  # (B, 2, r')
    d_projected: np.ndarray  # (2B + G, d)
    d_h1: np.ndarray  # (P, d)
    d_node1: Activations  # (P, d)
    d_update: np.ndarray  # (B, 2, d): before the sigmoid of eq. 2
    d_inputs: np.ndarray  # (B, 2, I)
    d_near: np.ndarray  # (B, 2, r, d): of W_h z of the strongest neighbours
    row_first: np.ndarray  # (B, 2) int64: where the node's row begins in `d_rows`
    d_rows: np.ndarray  # (r, D): of the rows of S of the batch's nodes, as far back as it has come
    d_common: np.ndarray  # (B, 2, r): what normalizing the row takes from each of its entries
    d_out: np.ndarray  # (B, 2, r'): of the logits, from the loss and from the sample
    d_last: Activations  # (B, 2, d)
    d_pair: np.ndarray  # (B, 2, t)
    d_mixed2: np.ndarray  # (B, 2, d, d)
    d_node2: Activations  # (B, 2, d)
    d_mean: np.ndarray  # (B, 2, d)
    d_edge1: Activations  # (B, 2, m, d)
    d_mixed: np.ndarray  # (B, 2, d, d)
    d_offset: np.ndarray  # (B, 2, d)
    d_sent: np.ndarray  # (B, 2, m, d)
    d_own: np.ndarray  # (B, 2, d): of h¹ of the event's nodes


class Form(NamedTuple):
    """Which model it is."""

    moves: int
    passes: int  # 0 without an encoder
    bilinear: bool  # the intensity's compatibility
    bilinear_pairs: bool  # the encoder's edge networks


# Shapes by letters: B, P, R, E, A, D, m, d, r and I as above; W: 2B; F: 2B + G; p: r'; t: what the last edge
# network sees. Behind a star: only where S is learned. Both of `Activations` have the same shape.
TAPE = {
    "waiting": "B24",
    "noise": "*B2p",
    "z": "Pd",
    "projected": "Rd",
    "node1": "*Pd",
    "softmax": "rE",
    "strongest": "B2rd",
    "inputs": "B2I",
    "mixed": "*B2dd",
    "sent": "*B2md",
    "edge1": "*B2md",
    "offset": "*B2d",
    "mean": "*B2d",
    "node2": "*B2d",
    "pair": "*B2t",
    "mixed2": "*B2dd",
    "last": "*B2d",
    "logits": "*B2p",
    "soft": "*B2p",
    "after_first": "*B2",
    "after": "*rA",
    "totals": "*B2r",
    "spare": "B2d",
}
GRADIENTS = {
    "d_z": "Wd",
    "d_logits": "*B2p",
    "d_projected": "Fd",
    "d_h1": "*Pd",
    "d_node1": "*Pd",
    "d_update": "B2d",
    "d_inputs": "B2I",
    "d_near": "B2rd",
    "row_first": "*B2",
    "d_rows": "*rD",
    "d_common": "*B2r",
    "d_out": "*B2p",
    "d_last": "*B2d",
    "d_pair": "*B2t",
    "d_mixed2": "*B2dd",
    "d_node2": "*B2d",
    "d_mean": "*B2d",
    "d_edge1": "*B2md",
    "d_mixed": "*B2dd",
    "d_offset": "*B2d",
    "d_sent": "*B2md",
    "d_own": "*B2d",
}
NETWORKS = ("node1", "edge1", "node2", "last")
TYPES = {"strongest": np.int32, "after_first": np.int64, "row_first": np.int64}  # of others: single precision
