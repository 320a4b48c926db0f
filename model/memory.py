"""Settings of the C library's memory allocator."""

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # of mallopt, in glibc's malloc.h
LARGEST = 2**30  # bytes; larger tensors are rare and are returned to the system


def keep_freed_memory() -> None:
    """Make malloc keep freed memory for later tensors instead of returning it to the system.

    A batch allocates and frees tensors of megabytes; page faults would cost more than filling them. No-op if
    the C library has no `mallopt`.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # Older C libraries refuse the first setting; the second alone would make every large tensor a mapping.
    if mallopt is not None and mallopt(MMAP_THRESHOLD, LARGEST):
        mallopt(TRIM_THRESHOLD, LARGEST)
