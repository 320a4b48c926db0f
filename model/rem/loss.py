"""The conditional logit of an event: the truth against candidates, down the row and down the column."""

from torch import Tensor


def conditional_logit(log_lambda: Tensor) -> Tensor:
    """−log λ_truth/Σ_c λ_c, summed over both directions, mean over events: (S).

    `log_lambda` (S, B, 2, C) has the truth first.
    """
    return (log_lambda.logsumexp(3) - log_lambda[..., 0]).sum(2).mean(1)
