"""Text as it is written for people: what a format forbids or a screen obeys is shown by its code."""

import re

# Control characters, line separators, what turns the direction of writing, surrogates, and the code points
# that are no characters. XML forbids most of them; HTML, terminals and editors obey or drop the rest.
FORBIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
IN_A_DOCUMENT = re.compile(f"[{FORBIDDEN}]")
IN_A_NAME = re.compile(f"[{FORBIDDEN}\t\n\r]")


def printable(name: str) -> str:
    """`name` on one line that any format takes; a NUL is written `\\u0000`."""
    return IN_A_NAME.sub(code, name)


def printable_document(text: str) -> str:
    """`text` with its lines and tabs; else what a format forbids by its code, which JSON in it reads back."""
    return IN_A_DOCUMENT.sub(code, text)


def code(match: re.Match[str]) -> str:
    """A character by its code, as JSON writes it."""
    return f"\\u{ord(match[0]):04x}"
