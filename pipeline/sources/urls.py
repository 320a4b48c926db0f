"""Addresses as they may be stored, logged and shown: without user, password and query."""

import hashlib
import re
from urllib.parse import urlsplit, urlunsplit

USER = re.compile(r"(?<=://)[^/?#\s]*@")
QUERY = re.compile(r"[?#]\S*")


def is_url(text: str) -> bool:
    """Return whether `text` is an http(s) address and not, for instance, a path."""
    return text.startswith(("http://", "https://"))


def check_url(url: str, name: str) -> None:
    """Raise ValueError unless `url` has a host and a valid port; `name` identifies it in the message."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError(
            f"{name} is not a whole http(s) address; / ? # and @ in a user or password are written "
            "%2F %3F %23 and %40"
        )


def shown_address(text: str) -> str:
    """Return an address without user, password, query and fragment; other text is unchanged."""
    if "://" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def without_secrets(text: str) -> str:
    """Return a text, such as a library's error, without users, passwords and queries of its addresses."""
    return QUERY.sub("", USER.sub("", text))


def address_of(url: str) -> str:
    """Return a SHA-256 digest that identifies an address without its user and password."""
    parts = urlsplit(url)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    return hashlib.sha256(bare.encode()).hexdigest()
