"""TGM's TPNet: random projections of temporal walks between a pair and the last neighbours of both.

Encoder, projections and decoder are the library's; it has no neighbour memory without its loader, so the last
neighbours are kept here. It learns by softmax with a few drawn candidates each way.
"""

import torch
from tgm.constants import PADDED_NODE_ID
from tgm.nn import LinkPredictor, RandomProjectionModule, TPNet
from torch import Tensor, nn

from benchmarks.peers.peer import Edges, Peer

WIDTH, TIME, IDENTITY, NEIGHBOURS, HOPS, DRAWN = 64, 32, 16, 8, 2, 8
DECAY = 1e-6  # per second, the library's
PAIRS_AT_ONCE = 2048


class TemporalWalks(Peer):
    """TPNet with its link predictor."""

    title = "TPNet (TGM)"
    epochs = 4
    batch = 100
    learning_rate = 1e-3

    def __init__(self, edges: Edges) -> None:
        super().__init__()
        self.nodes = edges.nodes
        self.walks = RandomProjectionModule(
            edges.nodes,
            HOPS,
            DECAY,
            beginning_time=0.0,
            use_matrix=False,
            num_edges=len(edges),
            dim_factor=10,
        )
        features = edges.msg.shape[1]
        self.encode = TPNet(IDENTITY, features, TIME, WIDTH, NEIGHBOURS, random_projections=self.walks)
        self.decide = LinkPredictor(WIDTH, hidden_dim=WIDTH)
        self.register_buffer("identity", torch.randn(edges.nodes, IDENTITY))
        self.partners = torch.empty(edges.nodes, NEIGHBOURS, dtype=torch.long)
        self.times = torch.empty(edges.nodes, NEIGHBOURS, dtype=torch.long)
        self.messages = torch.empty(edges.nodes, NEIGHBOURS, features)
        self.forget()

    def forget(self) -> None:
        """Go back to before the first event; the projections' directions stay, the weights know them."""
        self.walks.reset_random_projections(reset_zero=False)
        self.partners.fill_(PADDED_NODE_ID)
        self.times.zero_()
        self.messages.zero_()

    def observe(self, events: Edges) -> None:
        """Let events enter the walks and the last neighbours of both ends."""
        self.walks.update(events.src, events.dst, events.t.float())
        for u, v, second, msg in zip(events.src, events.dst, events.t, events.msg, strict=True):
            for node, partner in ((u, v), (v, u)):
                for memory, new in ((self.partners, partner), (self.times, second), (self.messages, msg)):
                    memory[node] = torch.cat([memory[node, 1:], new[None]])

    def likely(self, source: Tensor, target: Tensor, second: Tensor) -> Tensor:
        """The scores of pairs (M) at their seconds (M)."""
        ends = torch.cat([source, target])
        encoded = self.encode(
            self.identity,
            torch.stack([source, target]),
            second,
            self.partners[ends],
            self.times[ends],
            self.messages[ends],
        )
        return self.decide(*encoded)

    def loss(self, events: Edges) -> Tensor:
        """Cross entropy among the truth and drawn nodes, both ways."""
        many = len(events)
        second = events.t[:, None].expand(many, DRAWN + 1).flatten()
        truth = torch.zeros(many, dtype=torch.long)
        total = torch.zeros(())
        for own, other, acts in ((events.src, events.dst, True), (events.dst, events.src, False)):
            drawn = (own[:, None] + torch.randint(1, self.nodes, (many, DRAWN))) % self.nodes
            candidates = torch.cat([other[:, None], drawn], 1).flatten()  # the truth first
            own_ends = own[:, None].expand(many, DRAWN + 1).flatten()
            pair = (own_ends, candidates) if acts else (candidates, own_ends)
            total = total + nn.functional.cross_entropy(self.likely(*pair, second).view(many, -1), truth)
        return total

    def scores(self, source: int, target: int, second: int) -> Tensor:
        """Every node as the target of `source`, and as the actor of `target`."""
        everyone = torch.arange(self.nodes)
        sources = torch.cat([torch.full_like(everyone, source), everyone])
        targets = torch.cat([everyone, torch.full_like(everyone, target)])
        parts = [
            self.likely(u, v, torch.full_like(u, second))
            for u, v in zip(sources.split(PAIRS_AT_ONCE), targets.split(PAIRS_AT_ONCE), strict=True)
        ]
        return torch.cat(parts).view(2, -1)
