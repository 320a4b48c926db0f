"""The forward pass of a batch in a large network, one seed after another, from embeddings to losses."""

import numpy as np
import torch
from torch import Tensor

from model.batches import Chance, draw_chance, waiting_features
from model.encoder import Workspace
from model.forward import Losses
from model.intensity import compatibility_of_pairs, intensity, symmetric_compatibility
from model.large.layout import Layout, Room, join_and_lay_out
from model.large.loop import Loop
from model.loss import divergence
from model.state import State
from model.stream import Stream
from pipeline.paper_training import NON_EVENTS
from pipeline.variants import MOVES, Variant


def advance_large(
    stream: Stream,
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    stop: int,
    chance: Chance,
    workspace: Workspace,
    learn: bool,
) -> Losses:
    """Advance `state` in place through the events up to `stop`; with `learn`, losses are differentiable."""
    start, pages = state.position, state.pages
    ends = np.stack([stream.u[start:stop], stream.v[start:stop]], axis=1)  # (B, 2)
    kinds = stream.k[start:stop]
    seconds = stream.seconds[start:stop]
    waiting = waiting_features(seconds_waited(seconds, ends, state.clock)).float().numpy()
    state.clock[ends.reshape(-1)] = np.repeat(seconds, 2)  # the last event of a node wins
    losses, survival = [], []
    with torch.set_grad_enabled(learn):
        for row in range(len(state.z)):
            room = workspace.of_seed(row, Room)
            words = None if chance.words is None else chance.words[row].numpy()
            others = chance.others[row].numpy()
            moves = MOVES[variant.attention]
            layout = join_and_lay_out(pages, row, ends, kinds, others, words, moves, chance.senders, room)
            of_seed = {name: weights[row : row + 1] for name, weights in named.items()}
            noise = None if chance.noise is None else chance.noise[:, row].float().numpy()
            pool = pages.pools[row]
            loop = Loop(variant, of_seed, pool, layout, kinds, waiting, noise, room, workspace.threads)
            z, logits = loop.run(state.z[row])
            events, not_happened = intensities(z, layout, torch.from_numpy(kinds), of_seed)
            kl = divergence(variant, logits)[0] if variant.is_sampled else z.new_zeros(())
            losses.append(torch.stack([-events.log().sum(), not_happened.sum(), kl]))
            survival.append(not_happened.detach())
            state.z[row, torch.from_numpy(layout.moved)] = z[0, torch.from_numpy(layout.last)].detach()
    state.position = stop
    state.add_survival(start, torch.stack(survival))
    return Losses(*torch.stack(losses, dim=1))


def carry(
    stream: Stream,
    variant: Variant,
    named: dict[str, Tensor],
    state: State,
    stop: int,
    random: list[torch.Generator],
    size: int,
    senders: int,
    workspace: Workspace,
) -> None:
    """Advance `state` in place to `stop` without gradients, `size` events at a time."""
    while state.position < stop:
        until = min(state.position + size, stop)
        chance = draw_chance(stream, variant, state.position, until, random, noisy=False, senders=senders)
        advance_large(stream, variant, named, state, until, chance, workspace, learn=False)


def seconds_waited(seconds: np.ndarray, ends: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Return seconds since the previous event of both nodes (B, 2); `clock` (N) is that before the batch."""
    nodes = ends.reshape(-1)
    order = np.argsort(nodes, kind="stable")
    by_node, at = nodes[order], seconds[order // 2]
    again = np.concatenate([[False], by_node[1:] == by_node[:-1]])
    last = np.where(again, np.concatenate([[0.0], at[:-1]]), clock[by_node])
    waiting = np.empty(len(nodes))
    waiting[order] = at - last
    return waiting.reshape(-1, 2)


def intensities(z: Tensor, layout: Layout, kinds: Tensor, named: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return λ and the survival term of every event, both (B), from rows of Z (1, R, d)."""
    symmetric, rate = symmetric_compatibility(named["intensity.compatibility"]), named["intensity.rate"]
    own, others = torch.from_numpy(layout.plan.own), torch.from_numpy(layout.plan.others)
    events = len(kinds)
    of_own = z[0].index_select(0, own.view(-1)).view(1, events, 2, -1)
    g = compatibility_of_pairs(of_own[:, :, 0], of_own[:, :, 1], symmetric)  # (1, B, 2)
    happened = intensity(g[0].gather(1, kinds[:, None])[:, 0], rate[0, kinds])
    of_others = z[:, others.view(-1)]  # (1, B·2·5, d)
    of_ends = of_own.view(1, 2 * events, -1).repeat_interleave(NON_EVENTS, 1)
    rates = intensity(compatibility_of_pairs(of_ends, of_others, symmetric), rate.unsqueeze(1))
    return happened, rates.view(events, -1).sum(1) / NON_EVENTS
