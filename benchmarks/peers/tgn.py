"""PyG's TGN: a memory per node, attention over its last events, a link predictor.

After PyG's own example, with three changes in its favour: it learns by softmax over all nodes instead of one
negative, times enter as logarithms, for the raw seconds of a year are noise to its encoder, and events that
come singly enter its memory as the batch that they make together.
"""

import torch
from torch import Tensor, nn
from torch_geometric.nn import TGNMemory, TransformerConv
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, LastNeighborLoader, TimeEncoder

from benchmarks.peers.peer import Edges, Peer

WIDTH, NEIGHBOURS = 64, 10


class LogTimeEncoder(TimeEncoder):
    """PyG's encoder of log(1 + t)."""

    def forward(self, t: Tensor) -> Tensor:
        """Encode times (M) as (M, WIDTH)."""
        return super().forward(t.abs().log1p())


class TGN(Peer):
    """The temporal graph network."""

    title = "TGN (PyG)"
    epochs = 20
    batch = 50
    learning_rate = 1e-3

    def __init__(self, edges: Edges) -> None:
        super().__init__()
        self.edges = edges
        features = edges.msg.shape[1]
        self.memory = TGNMemory(
            edges.nodes, features, WIDTH, WIDTH, IdentityMessage(features, WIDTH, WIDTH), LastAggregator()
        )
        self.memory.time_enc = LogTimeEncoder(WIDTH)
        self.attend = TransformerConv(WIDTH, WIDTH // 2, heads=2, dropout=0.1, edge_dim=features + WIDTH)
        self.neighbours = LastNeighborLoader(edges.nodes, NEIGHBOURS)
        self.as_source, self.as_target = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 1)
        self.start = 0  # of the batch that single events make together
        self.before: tuple[Tensor, Tensor] | None = None  # memory and times as they were before it

    def forget(self) -> None:
        """Go back to before the first event."""
        self.memory.reset_state()
        self.neighbours.reset_state()
        self.before = None

    def observe(self, events: Edges) -> None:
        """Let events enter memory and neighbourhoods.

        In a batch that it learns from, the memory of a node moves once. Moved by every event of a burst, it
        would leave what it has learned of, so single events move it from where it was before their batch.
        """
        self.neighbours.insert(events.src, events.dst)
        if self.training:
            self.before = None
            self.memory.update_state(events.src, events.dst, events.t, events.msg)
            self.memory.detach()
            return
        stop = self.neighbours.cur_e_id
        if self.before is None or stop - self.start > self.batch:
            self.start = stop - len(events)
            self.before = self.memory.memory.clone(), self.memory.last_update.clone()
        self.memory.memory.copy_(self.before[0])
        self.memory.last_update.copy_(self.before[1])
        together = self.edges[slice(self.start, stop)]
        self.memory.update_state(together.src, together.dst, together.t, together.msg)

    def embeddings(self) -> Tensor:
        """Every node as it is now: (N, WIDTH)."""
        everyone, links, place = self.neighbours(torch.arange(self.edges.nodes))
        memory, updated = self.memory(everyone)
        since = (updated[links[0]] - self.edges.t[place]).to(memory.dtype)
        of_links = torch.cat([self.memory.time_enc(since), self.edges.msg[place]], 1)
        return self.attend(memory, links, of_links)

    def likely(self, source: Tensor, target: Tensor) -> Tensor:
        """The score of pairs; sources and targets broadcast."""
        return self.out((self.as_source(source) + self.as_target(target)).relu()).squeeze(-1)

    def loss(self, events: Edges) -> Tensor:
        """Cross entropy among all nodes, both ways."""
        z = self.embeddings()
        source, target = z[events.src], z[events.dst]
        targets = self.likely(source[:, None], z[None])  # (B, N)
        actors = self.likely(z[None], target[:, None])
        ways = (targets, events.src, events.dst), (actors, events.dst, events.src)
        entropy = nn.functional.cross_entropy
        return sum(
            (entropy(logits.scatter(1, own[:, None], -torch.inf), truth) for logits, own, truth in ways),
            torch.zeros(()),
        )

    def scores(self, source: int, target: int, second: int) -> Tensor:  # noqa: ARG002 - it knows no time of asking
        """Every node as the target of `source`, and as the actor of `target`."""
        z = self.embeddings()
        return torch.stack([self.likely(z[source], z), self.likely(z, z[target])])
