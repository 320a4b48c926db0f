"""Natural logarithm in single precision as plain arithmetic, so that loops over a row are vectorized.

x = 2^e · m with m in [√½, √2); log x = e·log 2 + log m, the latter by the polynomial of Cephes' `logf`. The
error is below 2⁻²³ of the result or of one; x must be positive and not subnormal.
"""

import numpy as np

from model.history.compiled import compiled

ROOT_HALF = np.int32(0x3F3504F3)  # the bits of √½
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
C0, C1, C2 = np.float32(7.0376836292e-2), np.float32(-1.1514610310e-1), np.float32(1.1676998740e-1)
C3, C4, C5 = np.float32(-1.2420140846e-1), np.float32(1.4249322787e-1), np.float32(-1.6668057665e-1)
C6, C7, C8 = np.float32(2.0000714765e-1), np.float32(-2.4999993993e-1), np.float32(3.3333331174e-1)
HALF, ONE = np.float32(0.5), np.float32(1.0)


@compiled
def logarithm(x: np.float32) -> np.float32:
    """Return the natural logarithm of x."""
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - ROOT_HALF) >> np.int32(23))
    m = np.int32(bits - np.int32(exponent << np.int32(23))).view(np.float32) - ONE
    e = np.float32(exponent)
    square = m * m
    y = (((((((C0 * m + C1) * m + C2) * m + C3) * m + C4) * m + C5) * m + C6) * m + C7) * m + C8
    return m + (m * square * y - HALF * square + e * LOG_2_LOW) + e * LOG_2_HIGH
