"""Classes that stored JSON is checked against, ready before a second thread can ask for one.

msgspec works out a class when it first meets it. A thread that comes while it does reads what is not there
yet, and the process ends with a segmentation fault. Modules are imported by one thread.
"""

from typing import TypeVar

import msgspec

Class = TypeVar("Class")


def decoded(of: type[Class]) -> type[Class]:
    """The class itself, which msgspec has met."""
    msgspec.json.Decoder(of)
    return of
