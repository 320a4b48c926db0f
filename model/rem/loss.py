"""The conditional logit loss of an event: the truth against candidates, for its target and its actor."""

from torch import Tensor


def conditional_logit(log_lambda: Tensor) -> Tensor:
    """Return −log(λ_truth/Σ_c λ_c), summed over both directions, averaged over events: (S).

    `log_lambda` (S, B, 2, C) has the truth first.
    """
    return (log_lambda.logsumexp(3) - log_lambda[..., 0]).sum(2).mean(1)
