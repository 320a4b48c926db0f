"""Text as it is written for people: what a format forbids or a screen obeys by its code, long values cut, two
numbers told apart.
"""

import difflib
import re
from collections.abc import Iterable

# Control characters, line separators, what turns the direction of writing, surrogates, and the code points
# that are no characters. XML forbids most of them; HTML, terminals and editors obey or drop the rest.
FORBIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
IN_A_DOCUMENT = re.compile(f"[{FORBIDDEN}]")
IN_A_NAME = re.compile(f"[{FORBIDDEN}\t\n\r]")
MARKUP = re.compile(r"[\\\[\]<]")  # links, pictures, HTML, and the backslash that would undo an escape
LONGEST_VALUE = 200  # characters of a value that a message repeats
MOST_DECIMALS = 17  # whatever lies nearer together reads as equal


def printable(name: str) -> str:
    """`name` on one line that any format takes; a NUL is written `\\u0000`."""
    return IN_A_NAME.sub(character_code, name)


def printable_document(text: str) -> str:
    """`text` with its lines and tabs; else what a format forbids by its code, which JSON in it reads back."""
    return IN_A_DOCUMENT.sub(character_code, text)


def escape_markdown(text: str) -> str:
    """Escape the links, pictures and HTML of a text from data, so that Markdown shows them as characters."""
    return MARKUP.sub(r"\\\g<0>", text)


def shortened(value: object) -> str:
    """`value` as Python writes it, short enough for a message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return f"too large a value ({type(value).__name__})"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` for the known name nearest to a misspelled one, or nothing."""
    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {printable(nearest[0])}?" if nearest else ""


def character_code(match: re.Match[str]) -> str:
    """A character by its code, as JSON writes it."""
    return f"\\u{ord(match[0]):04x}"


def told_apart(one: float, other: float, decimals: int) -> tuple[str, str]:
    """Two numbers that a sentence compares, with so many decimals, or as many more as tell them apart.

    Equal numbers have nothing to tell apart.
    """
    texts = (f"{one:.{decimals}f}", f"{other:.{decimals}f}")
    if texts[0] != texts[1] or one == other or decimals >= MOST_DECIMALS:
        return texts
    return told_apart(one, other, decimals + 1)


def duration(seconds: float) -> str:
    """A span of time as a person says it: `45 s`, `3 min 20 s`, `1 h 42 min`."""
    whole = round(max(seconds, 0))
    if whole < 60:
        return f"{whole} s"
    large, small, units = (
        (*divmod(whole, 60), ("min", "s")) if whole < 3600 else (*divmod(round(whole / 60), 60), ("h", "min"))
    )
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")
