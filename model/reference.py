"""The model straight from the equations: dense, one event and one seed at a time, slow and obvious.

Automatic differentiation gives the gradients. Nothing is shared with the engine but the names of parameters.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pipeline.variants import Variant


def elu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.exp(torch.clamp(x, max=0)) - 1)


def network(p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    hidden = elu(x @ p[f"{name}.w1"] + p[f"{name}.b1"])
    return elu(hidden @ p[f"{name}.w2"] + p[f"{name}.b2"])


def g(p: dict[str, Tensor], z_u: Tensor, z_v: Tensor, k: int) -> Tensor:
    """Symmetrized compatibility."""
    weights = p["intensity.compatibility"][k]

    def one_way(a: Tensor, b: Tensor) -> Tensor:
        return a @ weights @ b if weights.dim() == 2 else weights @ torch.cat([a, b])

    return (one_way(z_u, z_v) + one_way(z_v, z_u)) / 2


def rate(p: dict[str, Tensor], z_u: Tensor, z_v: Tensor, k: int) -> Tensor:
    """λ of eqs. 5 and 14."""
    psi = p["intensity.rate"][k]
    return psi * torch.log1p(torch.exp(torch.clamp(g(p, z_u, z_v, k) / psi, -75, 75)))


def pair(p: dict[str, Tensor], name: str, sender: Tensor, receiver: Tensor) -> Tensor:
    """The interaction of two nodes: bilinear or concatenated."""
    if f"{name}.pair" in p:
        return torch.einsum("j,jik,i->k", receiver, p[f"{name}.pair"], sender)
    return torch.cat([sender, receiver])


def encode(p: dict[str, Tensor], z: Tensor, u: int, v: int, passes: int) -> Tensor:
    """Logits of S_uv: eqs. 8–11."""
    p = {name.removeprefix("encoder."): w for name, w in p.items() if name.startswith("encoder.")}
    nodes = len(z)
    h1 = [network(p, "node1", z[j]) for j in range(nodes)]

    def edge1(i: int, j: int) -> Tensor:
        return network(p, "edge1", pair(p, "edge1", h1[i], h1[j]))

    if passes == 1:
        return edge1(u, v) @ p["out.w"] + p["out.b"]

    def h2(j: int) -> Tensor:
        incoming = torch.stack([edge1(i, j) for i in range(nodes) if i != j])
        return network(p, "node2", incoming.sum(0) / (nodes - 1))

    edge2 = network(p, "edge2", torch.cat([pair(p, "edge2", h2(u), h2(v)), edge1(u, v)]))
    return edge2 @ p["out.w"] + p["out.b"]


def waiting(seconds: float) -> Tensor:
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    return torch.tensor([days / 50, hours / 7, minutes / 15, rest / 15], dtype=torch.float64)


@dataclass
class Reference:
    """One seed. `s` is S (N, N, r); `near` says who is whose neighbour by which edge type."""

    variant: Variant
    p: dict[str, Tensor]
    z: Tensor  # (N, d)
    s: Tensor  # (N, N, r)
    near: Tensor  # (N, N, r) bool
    clock: list[float]
    log_rates: list[Tensor] = field(default_factory=list)
    survival: list[Tensor] = field(default_factory=list)
    kl: list[Tensor] = field(default_factory=list)
    logits: list[Tensor] = field(default_factory=list)
    trail: list[Tensor] = field(default_factory=list)

    def event(self, u: int, v: int, tau: float, k: int, others: Tensor, noise: Tensor | None) -> None:
        """One event in the order of the equations; `others` (2, 5) are non-events' nodes for u and for v."""
        lam = rate(self.p, self.z[u], self.z[v], k)
        self.log_rates.append(torch.log(lam))
        not_happened = [
            rate(self.p, self.z[end], self.z[int(other)], kind)
            for end, nodes in ((u, others[0]), (v, others[1]))
            for other in nodes
            for kind in (0, 1)
        ]
        self.survival.append(torch.stack(not_happened).sum() / 5)
        self.trail.append(self.z)
        if self.variant.is_recurrent:
            z, s = self.updated_nodes(u, v, tau), self.s
            if self.variant.attention == "learned":
                s = self.learned_attention(u, v, noise)
            elif self.variant.attention == "association":
                s = self.dyrep_attention(u, v, k, lam.detach())
            self.z, self.s = z, s
        self.clock[u] = self.clock[v] = tau

    def felt(self, u: int) -> Tensor:
        """h^S_u of eq. 3, all edge types side by side."""
        parts = []
        for e in range(self.s.shape[2]):
            neighbours = torch.nonzero(self.near[u, :, e]).flatten()
            if len(neighbours) == 0:
                parts.append(torch.zeros_like(self.z[u]))
                continue
            weights = torch.softmax(self.s[u, neighbours, e], 0)
            features = torch.sigmoid(weights[:, None] * (self.z[neighbours] @ self.p["update.neighbour"]))
            parts.append(features.max(0).values)
        return torch.cat(parts)

    def updated_nodes(self, u: int, v: int, tau: float) -> Tensor:
        z = self.z.clone()
        for node, other in ((u, v), (v, u)):
            z[node] = torch.sigmoid(
                self.felt(other) @ self.p["update.attention"]
                + self.z[node] @ self.p["update.self"]
                + waiting(tau - self.clock[node]).to(self.z.dtype) @ self.p["update.waiting"]
            )
        return z

    def learned_attention(self, u: int, v: int, noise: Tensor | None) -> Tensor:
        prior = torch.tensor(self.variant.prior_probabilities, dtype=self.z.dtype)
        s, near = self.s.clone(), self.near.clone()
        assert noise is not None
        both = []
        for direction, (i, j) in enumerate(((u, v), (v, u))):
            logits = encode(self.p, self.z, i, j, self.variant.passes)
            both.append(logits)
            q = torch.softmax(logits, 0)
            entropy = -(q * torch.log(q)).sum()
            cross = -(q * torch.log(prior)).sum() if self.variant.prior == "sparse" else 0.0
            self.kl.append(-(entropy - cross))
            sample = torch.softmax((logits + noise[direction]) / 0.5, 0)
            row = self.s[i].clone()
            row[j] = sample[len(prior) - self.s.shape[2] :]
            s[i] = row / row.sum(0)
            near[i, j] = True
        self.logits.append(torch.stack(both))
        self.near = near
        return s

    def dyrep_attention(self, u: int, v: int, k: int, lam: Tensor) -> Tensor:
        adjacency = self.near[:, :, 0].clone()
        if k == 1 and not adjacency[u, v]:
            return self.s
        degree_before = adjacency.sum(1)
        if k == 0:
            adjacency[u, v] = adjacency[v, u] = True
        degree = adjacency.sum(1)
        s = self.s.clone()
        for j, i in ((u, v), (v, u)):
            b = 1 / int(degree[j]) if degree[j] else 0.0
            y = self.s[j, :, 0].clone()
            if k == 0:
                before = 1 / int(degree_before[j]) if degree_before[j] else 0.0
                others = torch.arange(len(y)) != i
                y = torch.where((y != 0) & others, y - (before - b), y)
            y[i] = b + lam
            s[j, :, 0] = y / y.sum()
        self.near = adjacency[:, :, None]
        return s

    def losses(self) -> Tensor:
        """Sums over the events seen: events, non-events, KL."""
        kl = torch.stack(self.kl).sum() if self.kl else torch.zeros((), dtype=self.z.dtype)
        return torch.stack([-torch.stack(self.log_rates).sum(), torch.stack(self.survival).sum(), kl])


def static_embeddings(variant: Variant, p: dict[str, Tensor], features: Tensor, adjacency: Tensor) -> Tensor:
    """GCN and GAT, node by node."""

    def gcn(x: Tensor) -> Tensor:
        degree = [1 + int(adjacency[i].sum()) for i in range(len(x))]
        out = []
        for i in range(len(x)):
            around = [j for j in range(len(x)) if j == i or adjacency[i, j]]
            out.append(torch.stack([x[j] / math.sqrt(degree[i] * degree[j]) for j in around]).sum(0))
        return torch.stack(out)

    def gat(x: Tensor, a: Tensor) -> Tensor:
        out = []
        for i in range(len(x)):
            around = [j for j in range(len(x)) if j == i or adjacency[i, j]]
            scores = torch.stack(
                [torch.nn.functional.leaky_relu(x[i] @ a[0] + x[j] @ a[1], 0.2) for j in around]
            )
            out.append((torch.softmax(scores, 0)[:, None] * x[around]).sum(0))
        return torch.stack(out)

    is_gat = variant.attention == "gat"
    hidden = features @ p["gnn.w1"]
    hidden = torch.relu(gat(hidden, p["gnn.a1"]) if is_gat else gcn(hidden))
    last = hidden @ p["gnn.w2"]
    return torch.sigmoid(gat(last, p["gnn.a2"]) if is_gat else gcn(last))
