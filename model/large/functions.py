"""Element-wise functions that compile to SIMD instructions, unlike numpy's exp under numba."""

import numpy as np

from model.large.compiled import compiled, inlined, summing

LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
SMALLEST, LARGEST = np.float32(-87.0), np.float32(88.0)
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
# exp(x) = 1 + x + x² p(x) for |x| ≤ ½ ln 2: the minimax polynomial of Cephes, accurate to the last place.
C0, C1, C2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
C3, C4, C5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


@inlined
def exp(x: np.float32) -> np.float32:
    """Compute exp in single precision; the argument is clamped to avoid overflow and underflow."""
    x = min(max(x, SMALLEST), LARGEST)
    whole = np.floor(x * LOG2_E + HALF)
    rest = x - whole * LN2_HIGH - whole * LN2_LOW
    series = ((((C0 * rest + C1) * rest + C2) * rest + C3) * rest + C4) * rest + C5
    power = (np.int32(whole) + np.int32(127)) << np.int32(23)
    return (series * rest * rest + rest + ONE) * np.int32(power).view(np.float32)


@inlined
def sigmoid(x: np.float32) -> np.float32:
    """Compute 1/(1 + exp(−x))."""
    return ONE / (ONE + exp(-x))


@inlined
def copy_row(source: np.ndarray, target: np.ndarray) -> None:
    """Copy `source` to `target`."""
    for f in range(len(source)):
        target[f] = source[f]


@inlined
def add_row(source: np.ndarray, target: np.ndarray) -> None:
    """Add `source` to `target` in place."""
    for f in range(len(source)):
        target[f] += source[f]


@inlined
def fill(target: np.ndarray, value: np.float32) -> None:
    """Fill a row with `value`."""
    for f in range(len(target)):
        target[f] = value


@summing
def total_of(row: np.ndarray) -> np.float32:
    """Return the sum of a row."""
    total = ZERO
    for k in range(len(row)):
        total += row[k]
    return total


@summing
def product_of(row: np.ndarray, other: np.ndarray) -> np.float32:
    """Return the dot product of two rows, over the length of the first."""
    total = ZERO
    for k in range(len(row)):
        total += row[k] * other[k]
    return total


@compiled
def elu_(sums: np.ndarray, bias: np.ndarray) -> None:
    """Add a bias (d) to rows (R, d) and apply ELU, in place."""
    for row in range(sums.shape[0]):
        for f in range(sums.shape[1]):
            x = sums[row, f] + bias[f]
            sums[row, f] = max(x, exp(min(x, ZERO)) - ONE)


@compiled
def elu_gradient_(d_output: np.ndarray, output: np.ndarray) -> None:
    """Turn the gradient of an ELU's output (R, d) into that of its input, in place."""
    for row in range(output.shape[0]):
        for f in range(output.shape[1]):
            d_output[row, f] *= min(output[row, f], ZERO) + ONE
