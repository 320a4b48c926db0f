"""What the process does with memory that tensors have left."""

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # of mallopt, in glibc's malloc.h
LARGEST = 2**30  # bytes: tensors beyond it are rare, and go back to the system


def keep_freed_memory() -> None:
    """Let the C library keep what is freed for the next tensor, instead of giving it back to the system.

    A batch makes and leaves tensors of megabytes. Fresh pages for each of them cost more than filling them.
    On systems whose C library has no such setting nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # The second without the first, which older C libraries refuse, would make every large tensor a mapping.
    if mallopt is not None and mallopt(MMAP_THRESHOLD, LARGEST):
        mallopt(TRIM_THRESHOLD, LARGEST)
