"""Loss terms of a batch (eq. 13): λ of events, λ of sampled non-events, KL of the learned graph (eqs. 14–15).

S: seeds, B: events, R: rows of versions of Z, d: width.
"""

import numpy as np
import torch
from torch import Tensor

from model.batches import Batch
from model.intensity import compatibility_of_pairs, intensity
from pipeline.paper_training import NON_EVENTS
from pipeline.variants import Variant


def event_intensities(versions: Tensor, batch: Batch, symmetric: Tensor, rate: Tensor) -> Tensor:
    """Compute λ of every event from the state before it, given row versions of Z (S, R, d): (S, B)."""
    at = np.arange(len(batch))
    z_u = versions[:, torch.from_numpy(batch.versions[at, batch.u])]  # (S, B, d)
    z_v = versions[:, torch.from_numpy(batch.versions[at, batch.v])]
    g = compatibility_of_pairs(z_u, z_v, symmetric)[:, torch.from_numpy(at), batch.kinds]  # (S, B)
    return intensity(g, rate[:, batch.kinds])


def survival_terms(versions: Tensor, batch: Batch, others: Tensor, symmetric: Tensor, rate: Tensor) -> Tensor:
    """Sum λ over each event's non-events and both kinds, divided by NON_EVENTS: (S, B)."""
    seeds, events = others.shape[:2]
    at = np.arange(events)
    ends = torch.from_numpy(
        np.stack([batch.versions[at, batch.u], batch.versions[at, batch.v]], axis=1)
    )  # (B, 2)
    own = versions[:, ends.repeat_interleave(NON_EVENTS, 1).view(-1)]  # (S, B·2·5, d)
    rows = torch.from_numpy(batch.versions)[torch.arange(events)[:, None], others.view(seeds, events, -1)]
    offset = torch.arange(seeds)[:, None, None] * versions.shape[1]
    other = versions.reshape(-1, versions.shape[2])[(rows + offset).view(-1)].view_as(own)
    rates = intensity(compatibility_of_pairs(own, other, symmetric), rate.unsqueeze(1))  # (S, B·2·5, 2)
    return rates.view(seeds, events, -1).sum(2) / NON_EVENTS


def divergence(variant: Variant, logits: Tensor) -> Tensor:
    """Sum KL(edge types ‖ prior) over events and directions, up to the uniform prior's constant: (S)."""
    log_q = logits.log_softmax(3)  # (B, S, 2, r')
    against = (
        torch.tensor(variant.prior_probabilities, dtype=logits.dtype).log()
        if variant.prior == "sparse"
        else 0
    )
    return (log_q.exp() * (log_q - against)).transpose(0, 1).flatten(1).sum(1)
