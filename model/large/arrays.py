"""Inputs and outputs of the compiled loop over a batch, as plain single-precision arrays.

Every event has its own memory for all its results, so that independent events may run in any order and on any
thread with bit-identical results. B: events, m: senders, d: width, r: edge
types, r': those of the prior, I = r·d + d + 4. Dimension 1 holds u and v, or the edges (u, v) and (v, u).
P, Q, R: rows as in `model.large.layout`; G: argmax rows before the batch (`model.large.felt`).
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
    """Rows after both ELUs of a network; a gradient, `d_…`, is that before them."""

    hidden: np.ndarray
    output: np.ndarray


class Weights(NamedTuple):
    """Parameters of one seed. The first layer of a bilinear edge network is folded: w1 is (d, d·d)."""

    update: np.ndarray  # (I, d)
    neighbour: np.ndarray  # (d, d)
    symmetric: np.ndarray  # (2, d, d) bilinear, (2, 1, d) concat
    rate: np.ndarray  # (2)
    node1: Network
    edge1: Network  # of the incoming edges, with two passes
    node2: Network
    last: Network  # f_edge² with two passes, f_edge¹ with one
    skip: np.ndarray  # (d, d): weights of the first-pass edge in a bilinear last network
    out_w: np.ndarray  # (d, r')
    out_b: np.ndarray  # (r')


class Tape(NamedTuple):
    """Activations of a batch."""

    waiting: np.ndarray  # (B, 2, 4): input
    noise: np.ndarray  # (B, 2, r'): input, zeros outside training
    z: np.ndarray  # (P, d): row versions of Z; rows before the batch are inputs, as in the next two
    projected: np.ndarray  # (R, d): W_h z
    node1: Activations  # (P, d): f_node¹; its output is h¹
    softmax: np.ndarray  # (r, E): softmax(S) for each neighbour read
    strongest: np.ndarray  # (B, 2, r, d) int32: argmax slot of eq. 3, NOBODY without neighbours
    inputs: np.ndarray  # (B, 2, I): inputs of eq. 2; the aggregated features are the other node's
    mixed: np.ndarray  # (B, 2, d, d): the bilinear map of the receiver
    sent: np.ndarray  # (B, 2, m, d): h¹ of the senders
    edge1: Activations  # (B, 2, m, d): of the incoming edges, with two passes
    offset: np.ndarray  # (B, 2, d): the receiver's term in a concatenated pair
    mean: np.ndarray  # (B, 2, d)
    node2: Activations  # (B, 2, d): f_node²; its output is h²
    pair: np.ndarray  # (B, 2, t): sender, receiver and, with two passes, first-pass edge
    mixed2: np.ndarray  # (B, 2, d, d)
    last: Activations  # (B, 2, d): the last edge network
    logits: np.ndarray  # (B, 2, r')
    soft: np.ndarray  # (B, 2, r')
    after_first: np.ndarray  # (B, 2) int64: row start in `after`, NOBODY for a node's last event
    after: np.ndarray  # (r, A): rows of S after the event, for nodes with a later event in the batch
    totals: np.ndarray  # (B, 2, r): divisors of these rows
    spare: np.ndarray  # (B, 2, d)


class Gradients(NamedTuple):
    """Gradients of a batch's backward pass; `d_z` and `d_logits` are inputs."""

    d_z: np.ndarray  # (2B, d)
    d_logits: np.ndarray  # (B, 2, r')
    d_projected: np.ndarray  # (2B + G, d)
    d_h1: np.ndarray  # (P, d)
    d_node1: Activations  # (P, d)
    d_update: np.ndarray  # (B, 2, d): before eq. 2's sigmoid
    d_inputs: np.ndarray  # (B, 2, I)
    d_near: np.ndarray  # (B, 2, r, d): of W_h z of the argmax neighbours
    row_first: np.ndarray  # (B, 2) int64: start of the node's row in `d_rows`
    d_rows: np.ndarray  # (r, D): of the rows of S of the batch's nodes, at the event in progress
    d_common: np.ndarray  # (B, 2, r): common term of the row normalization's gradient
    d_out: np.ndarray  # (B, 2, r'): of the logits, from loss and sample
    d_last: Activations  # (B, 2, d)
    d_pair: np.ndarray  # (B, 2, t)
    d_mixed2: np.ndarray  # (B, 2, d, d)
    d_node2: Activations  # (B, 2, d)
    d_mean: np.ndarray  # (B, 2, d)
    d_edge1: Activations  # (B, 2, m, d)
    d_mixed: np.ndarray  # (B, 2, d, d)
    d_offset: np.ndarray  # (B, 2, d)
    d_sent: np.ndarray  # (B, 2, m, d)
    d_own: np.ndarray  # (B, 2, d): of h¹ of u and v


class Form(NamedTuple):
    """Model variant flags of the compiled loop."""

    moves: int
    passes: int  # 0 without an encoder
    bilinear: bool  # the intensity's compatibility
    bilinear_pairs: bool  # the encoder's edge networks


# Shapes by letters: B, P, R, E, A, D, m, d, r and I as above; W: 2B; F: 2B + G; p: r'; t: input width of the
# last edge network. A star marks arrays for learned S only. Both arrays of `Activations` have this shape.
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
TYPES = {"strongest": np.int32, "after_first": np.int64, "row_first": np.int64}  # others: single precision
