"""A discrete-time hazard: a small network of the moment and of each time bin, with the exact likelihood.

With η_b the network's output for bin b, an event that has not come before bin b comes in it with probability
σ(η_b). A wait that ends in bin b has probability

    p_b = σ(η_b) ∏_{j<b} (1 − σ(η_j)),

and one that is censored after a share f of bin b has (1 − σ(η_b))^f ∏_{j<b} (1 − σ(η_j)).
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from model.checkpoint import read_tensors, write_tensors
from model.when.settings import HazardSettings
from pipeline.results.waits import Waits, bin_of

ROWS_AT_ONCE = 4_096


def one_cycle(network: nn.Module, rate: float, decay: float, steps: int) -> tuple[AdamW, OneCycleLR]:
    """Return AdamW and a one-cycle learning-rate schedule whose warm-up takes a tenth of `steps`."""
    optimizer = AdamW(network.parameters(), rate, weight_decay=decay)
    rising = 0.1 if steps != 10 else 0.1 - 1e-9  # OneCycleLR divides by rising · steps - 1
    return optimizer, OneCycleLR(optimizer, rate, total_steps=max(steps, 1), pct_start=rising)


def bin_edges(waits: Waits, bins: int) -> np.ndarray:
    """Return bin edges (B + 1), in seconds, at the quantiles of the ended waits, without duplicates.

    Waits of zero seconds have their own bin; edges at 14, 60 and 400 days cover the tail.
    """
    ended = waits.seconds[~waits.open]
    quantiles = np.quantile(ended, np.linspace(0, 1, bins + 1)[1:-1]) if len(ended) else []
    day = 86_400.0
    return np.unique([0.0, 1.0, *np.ceil(quantiles), 14 * day, 60 * day, 400 * day])


class HazardNetwork(nn.Module):
    """A network for η (W, B) from context (W, C) and evidence (W, B, Q); stores bin edges and scales."""

    edges: Tensor  # (B + 1) float64, seconds
    context_scale: Tensor  # (2, C), mean and deviation
    evidence_scale: Tensor  # (2, Q)

    def __init__(self, context: int, edges: np.ndarray, evidence: int, settings: HazardSettings) -> None:
        super().__init__()
        self.settings, bins = settings, len(edges) - 1
        self.register_buffer("edges", torch.tensor(edges))
        width = settings.width
        self.register_buffer("context_scale", torch.stack([torch.zeros(context), torch.ones(context)]))
        self.register_buffer("evidence_scale", torch.stack([torch.zeros(evidence), torch.ones(evidence)]))
        self.moment = nn.Sequential(
            nn.Linear(context, settings.hidden),
            nn.SiLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden, width),
        )
        self.bin = nn.Parameter(torch.randn(bins, width // 2) * 0.1)
        self.of_bin = nn.Linear(evidence + width // 2, width)
        self.of_moment = nn.Linear(width, width)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(width, 1))
        self.skip = nn.Linear(evidence, 1)
        self.tilt = nn.Linear(width, bins)
        nn.init.zeros_(self.tilt.weight)
        nn.init.zeros_(self.tilt.bias)

    def standardize(self, context: Tensor, evidence: Tensor) -> None:
        """Set the means and deviations of the inputs from these rows."""
        self.context_scale.copy_(torch.stack([context.mean(0), context.std(0) + 1e-6]))
        flat = evidence.flatten(0, 1)
        self.evidence_scale.copy_(torch.stack([flat.mean(0), flat.std(0) + 1e-6]))

    def forward(self, context: Tensor, evidence: Tensor) -> Tensor:
        """Return η (W, B)."""
        context = ((context - self.context_scale[0]) / self.context_scale[1]).clamp(-6, 6)
        evidence = ((evidence - self.evidence_scale[0]) / self.evidence_scale[1]).clamp(-6, 6)
        moment = self.moment(context)  # (W, width)
        bins = self.bin.expand(len(context), -1, -1)  # (W, B, width / 2)
        hidden = (
            self.of_bin(torch.cat([evidence, bins], dim=-1)) + self.of_moment(moment)[:, None]
        )  # (W, B, width)
        return self.out(hidden)[..., 0] + self.skip(evidence)[..., 0] + self.tilt(moment)

    def save(self, path: Path) -> None:
        """Write weights, buffers and settings to `path`."""
        write_tensors(dict(self.state_dict()), {"settings": asdict(self.settings)}, path)

    @classmethod
    def load(cls, path: Path) -> "HazardNetwork":
        """Return the network that `save` wrote, in evaluation mode."""
        tensors, header = read_tensors(path)
        widths = tensors["context_scale"].shape[1], tensors["evidence_scale"].shape[1]
        network = cls(widths[0], tensors["edges"].numpy(), widths[1], HazardSettings(**header["settings"]))
        network.load_state_dict(tensors)
        return network.eval()


def negative_log_likelihood(eta: Tensor, bins: Tensor, share: Tensor, still_open: Tensor) -> Tensor:
    """Return −log p (W) of waits that ended in `bins` or are censored after a `share` of that bin."""
    come, not_yet = logsigmoid(eta), logsigmoid(-eta)  # (W, B)
    at = bins[:, None]
    before = not_yet.cumsum(1).gather(1, at) - not_yet.gather(1, at)
    last = torch.where(still_open[:, None], share[:, None] * not_yet.gather(1, at), come.gather(1, at))
    return -(before + last)[:, 0]


def learn_hazard(
    waits: Waits,
    context: np.ndarray,
    evidence: np.ndarray,
    edges: np.ndarray,
    settings: HazardSettings,
    seed: int,
) -> HazardNetwork:
    """Train a network on `waits`, in time order, with their context (W, C) and evidence (W, B, Q)."""
    bins = bin_of(waits.seconds, edges)
    share = (waits.seconds - edges[bins]) / np.diff(edges)[bins]
    rows = [
        torch.from_numpy(array) for array in (context, evidence, bins, share.astype(np.float32), waits.open)
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = HazardNetwork(context.shape[1], edges, evidence.shape[2], settings)
        network.standardize(rows[0], rows[1])
        learnable = torch.arange(min(settings.skipped, len(waits) // 10), len(waits))
        batches = -(-len(learnable) // settings.batch)
        optimizer, schedule = one_cycle(
            network, settings.learning_rate, settings.weight_decay, settings.epochs * batches
        )
        for _ in range(settings.epochs):
            order = learnable[torch.randperm(len(learnable))]
            for batch in order.split(settings.batch):
                moment, evident, where, part, still_open = (array[batch] for array in rows)
                loss = negative_log_likelihood(network(moment, evident), where, part, still_open).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
    return network.eval()


@torch.no_grad()
def forecast_masses(network: HazardNetwork, context: np.ndarray, evidence: np.ndarray) -> np.ndarray:
    """Return p (W, B), the probability that each wait ends in each bin."""
    parts = []
    for start in range(0, len(context), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        eta = network(torch.from_numpy(context[rows]), torch.from_numpy(evidence[rows])).double()  # (W, B)
        not_yet = logsigmoid(-eta)
        masses = (logsigmoid(eta) + not_yet.cumsum(-1) - not_yet).exp()
        masses[..., -1] = 1 - masses[..., :-1].sum(-1)  # the last bin also takes all longer waits
        parts.append(masses)
    return torch.cat(parts).numpy()
