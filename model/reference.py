"""The reference implementation, straight from the equations: dense, one event and one seed at a time.

It is slow and simple; autograd computes the gradients. It shares only the names of the parameters `p` with
the engine; tests check that both agree in every value and every gradient. Equation numbers are those of
*Learning Temporal Attention in Dynamic Graphs with Bilinear Interactions*. N: nodes, d: width of an
embedding, r: edge types of attention (1 in DyRep), r': those of LDG's prior, which has a non-edge first if
it is sparse.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pipeline.variants import Variant

ASSOCIATION, COMMUNICATION = 0, 1
NON_EVENTS = 5  # sampled nodes for u, and as many for v
TEMPERATURE = 0.5  # of Gumbel-softmax


# ---- Intensity


def compatibility(p: dict[str, Tensor], z_u: Tensor, z_v: Tensor, k: int) -> Tensor:
    """Compute symmetrized g of two embeddings (d) for events of kind k: ω_k·[z_u, z_v] or z_u Ω_k z_v."""
    weights = p["intensity.compatibility"][k]

    def one_way(a: Tensor, b: Tensor) -> Tensor:
        return a @ weights @ b if weights.dim() == 2 else weights @ torch.cat([a, b])

    return (one_way(z_u, z_v) + one_way(z_v, z_u)) / 2


def intensity(p: dict[str, Tensor], z_u: Tensor, z_v: Tensor, k: int) -> Tensor:
    """Compute λ_k: eq. 5 with a concatenated, eq. 12 with a bilinear compatibility."""
    psi = p["intensity.rate"][k]
    return psi * torch.log1p(torch.exp(torch.clamp(compatibility(p, z_u, z_v, k) / psi, -75, 75)))


# ---- Embeddings


def aggregated(p: dict[str, Tensor], z: Tensor, s_u: Tensor, near_u: Tensor) -> Tensor:
    """Compute eq. 3: h^S_u from u's rows of S and `near` (N, r), edge types concatenated: (r·d)."""
    parts = []
    for e in range(s_u.shape[1]):
        neighbours = torch.nonzero(near_u[:, e]).flatten()
        if len(neighbours) == 0:
            parts.append(torch.zeros_like(z[0]))
            continue
        weights = torch.softmax(s_u[neighbours, e], 0)
        features = torch.sigmoid(weights[:, None] * (z[neighbours] @ p["update.neighbour"]))
        parts.append(features.max(0).values)
    return torch.cat(parts)


def waiting(seconds: float, dtype: torch.dtype) -> Tensor:
    """Split τ − τ_v of eq. 2 into scaled days, hours, minutes and seconds: (4)."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    return torch.tensor([days / 50, hours / 7, minutes / 15, rest / 15], dtype=torch.float64).to(dtype)


def updated(p: dict[str, Tensor], h_u: Tensor, z_v: Tensor, since: Tensor) -> Tensor:
    """Compute eq. 2: v's embedding (d) after an event with u, whose aggregated features are `h_u` (r·d)."""
    return torch.sigmoid(h_u @ p["update.attention"] + z_v @ p["update.self"] + since @ p["update.waiting"])


# ---- Attention by DyRep's rule


def dyrep_attention(s: Tensor, near: Tensor, u: int, v: int, k: int, lam: Tensor) -> tuple[Tensor, Tensor]:
    """Compute eq. 4: S and associations (N, N, 1) after an event of u and v, by DyRep's Algorithm 1."""
    adjacency = near[:, :, 0].clone()
    if k == COMMUNICATION and not adjacency[u, v]:
        return s, near
    degree_before = adjacency.sum(1)
    if k == ASSOCIATION:
        adjacency[u, v] = adjacency[v, u] = True
    degree = adjacency.sum(1)
    after = s.clone()
    for j, i in ((u, v), (v, u)):
        b = 1 / int(degree[j]) if degree[j] else 0.0
        y = s[j, :, 0].clone()
        if k == ASSOCIATION:
            before = 1 / int(degree_before[j]) if degree_before[j] else 0.0
            others = torch.arange(len(y)) != i
            y = torch.where((y != 0) & others, y - (before - b), y)
        y[i] = b + lam
        after[j, :, 0] = y / y.sum()
    return after, adjacency[:, :, None]


# ---- Attention by LDG's encoder


def elu(x: Tensor) -> Tensor:
    """Apply ELU, the nonlinearity of the encoder's networks."""
    return torch.where(x > 0, x, torch.exp(torch.clamp(x, max=0)) - 1)


def network(p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Apply f_node or f_edge: two ELU layers, from any width to d."""
    hidden = elu(x @ p[f"encoder.{name}.w1"] + p[f"encoder.{name}.b1"])
    return elu(hidden @ p[f"encoder.{name}.w2"] + p[f"encoder.{name}.b2"])


def interaction(p: dict[str, Tensor], name: str, sender: Tensor, receiver: Tensor) -> Tensor:
    """Combine two nodes (d) for an edge network: bilinear h_i W h_j (d), or concatenated (2·d)."""
    if f"encoder.{name}.pair" in p:
        return torch.einsum("j,jik,i->k", receiver, p[f"encoder.{name}.pair"], sender)
    return torch.cat([sender, receiver])


def encode(p: dict[str, Tensor], z: Tensor, u: int, v: int, passes: int) -> Tensor:
    """Compute eqs. 6–10: logits (r') of S_uv from all embeddings (N, d)."""
    nodes = len(z)
    h1 = [network(p, "node1", z[j]) for j in range(nodes)]  # eq. 7

    def edge1(i: int, j: int) -> Tensor:  # eq. 8
        return network(p, "edge1", interaction(p, "edge1", h1[i], h1[j]))

    def h2(j: int) -> Tensor:  # eq. 9, with the mean in place of the sum
        incoming = torch.stack([edge1(i, j) for i in range(nodes) if i != j])
        return network(p, "node2", incoming.sum(0) / (nodes - 1))

    if passes == 1:
        edge = edge1(u, v)
    else:  # eq. 10, with the first-pass edge as an additional input
        edge = network(p, "edge2", torch.cat([interaction(p, "edge2", h2(u), h2(v)), edge1(u, v)]))
    return edge @ p["encoder.out.w"] + p["encoder.out.b"]


def sampled(logits: Tensor, noise: Tensor) -> Tensor:
    """Sample eq. 11 by Gumbel-softmax: (r') from the posterior softmax(logits), with Gumbel `noise`."""
    return torch.softmax((logits + noise) / TEMPERATURE, 0)


def learned_attention(
    s: Tensor, near: Tensor, u: int, v: int, samples: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Set S_uv and S_vu to `samples` and renormalize rows u and v; return S and `near` (N, N, r)."""
    s_after, near_after = s.clone(), near.clone()
    for (i, j), sample in zip(((u, v), (v, u)), samples, strict=True):
        row = s[i].clone()
        row[j] = sample[len(sample) - s.shape[2] :]  # without the non-edge
        s_after[i] = row / row.sum(0)
        near_after[i, j] = True
    return s_after, near_after


def divergence(logits: Tensor, variant: Variant) -> Tensor:
    """Compute KL(posterior ‖ prior) of one edge: eq. 14 (uniform, up to its constant), eq. 15 (sparse)."""
    q = torch.softmax(logits, 0)
    entropy = -(q * torch.log(q)).sum()
    prior = torch.tensor(variant.prior_probabilities, dtype=q.dtype)
    cross = -(q * torch.log(prior)).sum() if variant.prior == "sparse" else 0.0
    return -(entropy - cross)


# ---- The whole model, event by event


@dataclass
class Reference:
    """One seed's model on a stream, advanced by `event`; it keeps the loss terms of every event."""

    variant: Variant
    p: dict[str, Tensor]
    z: Tensor  # (N, d)
    s: Tensor  # (N, N, r)
    near: Tensor  # (N, N, r) bool: adjacency per edge type
    clock: list[float]  # (N) seconds: time of each node's last event
    log_rates: list[Tensor] = field(default_factory=list)
    survival: list[Tensor] = field(default_factory=list)
    kl: list[Tensor] = field(default_factory=list)
    trail: list[Tensor] = field(default_factory=list)  # Z before each event

    def event(self, u: int, v: int, tau: float, k: int, others: Tensor, noise: Tensor | None) -> None:
        """Process one event of kind k at `tau` seconds. `others` (2, NON_EVENTS) are sampled non-event
        partners of u and v; `noise` (2, r') is the Gumbel noise for S_uv and S_vu.
        """
        lam = intensity(self.p, self.z[u], self.z[v], k)
        self.log_rates.append(torch.log(lam))
        not_happened = [
            intensity(self.p, self.z[end], self.z[int(other)], kind)
            for end, nodes in ((u, others[0]), (v, others[1]))
            for other in nodes
            for kind in (ASSOCIATION, COMMUNICATION)
        ]
        self.survival.append(torch.stack(not_happened).sum() / NON_EVENTS)
        self.trail.append(self.z)
        if self.variant.is_recurrent:  # embeddings and attention both use the state before the event
            z = self.z.clone()
            for node, other in ((u, v), (v, u)):
                h = aggregated(self.p, self.z, self.s[other], self.near[other])
                since = waiting(tau - self.clock[node], z.dtype)
                z[node] = updated(self.p, h, self.z[node], since)
            if self.variant.attention == "learned":
                assert noise is not None
                edges = [encode(self.p, self.z, *pair, self.variant.passes) for pair in ((u, v), (v, u))]
                self.kl += [divergence(logits, self.variant) for logits in edges]
                samples = [sampled(logits, drawn) for logits, drawn in zip(edges, noise, strict=True)]
                self.s, self.near = learned_attention(self.s, self.near, u, v, samples)
            elif self.variant.attention == "association":
                self.s, self.near = dyrep_attention(self.s, self.near, u, v, k, lam.detach())
            self.z = z
        self.clock[u] = self.clock[v] = tau

    def losses(self) -> Tensor:
        """Return the three terms of eq. 13, summed over all events so far: events, non-events, KL."""
        kl = torch.stack(self.kl).sum() if self.kl else torch.zeros((), dtype=self.z.dtype)
        return torch.stack([-torch.stack(self.log_rates).sum(), torch.stack(self.survival).sum(), kl])


# ---- Static graph networks


def static_embeddings(variant: Variant, p: dict[str, Tensor], features: Tensor, adjacency: Tensor) -> Tensor:
    """Apply eq. 1 twice, node by node: Z (N, d) by GCN or GAT from features (N, d) and adjacency (N, N)."""

    def around(i: int) -> list[int]:
        return [j for j in range(len(features)) if j == i or adjacency[i, j]]

    def gcn(x: Tensor) -> Tensor:
        degree = [1 + int(adjacency[i].sum()) for i in range(len(x))]
        return torch.stack(
            [
                torch.stack([x[j] / math.sqrt(degree[i] * degree[j]) for j in around(i)]).sum(0)
                for i in range(len(x))
            ]
        )

    def gat(x: Tensor, a: Tensor) -> Tensor:
        out = []
        for i in range(len(x)):
            scores = [torch.nn.functional.leaky_relu(x[i] @ a[0] + x[j] @ a[1], 0.2) for j in around(i)]
            out.append((torch.softmax(torch.stack(scores), 0)[:, None] * x[around(i)]).sum(0))
        return torch.stack(out)

    is_gat = variant.attention == "gat"
    hidden = features @ p["gnn.w1"]
    hidden = torch.relu(gat(hidden, p["gnn.a1"]) if is_gat else gcn(hidden))
    last = hidden @ p["gnn.w2"]
    return torch.sigmoid(gat(last, p["gnn.a2"]) if is_gat else gcn(last))
