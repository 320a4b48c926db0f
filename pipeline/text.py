"""Text as it is written for people: what a format forbids or a screen obeys is shown by its code."""

import re

# Control characters, line separators, what turns the direction of writing, surrogates and the two code points
# that are no characters: XML forbids most of them, HTML and terminals obey or drop the rest.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """`text` on one line that any format takes: a NUL is written `\\x00`, as Python writes it."""
    return UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
