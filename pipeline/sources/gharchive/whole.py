"""Incremental check that a stream of bytes is whole gzip: each member complete, its CRC right."""

from isal import isal_zlib

from pipeline.sources.gharchive.inflate import GZIP, MAGIC, IsalError, Limits

LIMITS = Limits()
STEP_BYTES = 16_384  # small steps stay in the processor's cache
PIECE_BYTES = 100_000
EXCERPT_BYTES = 40
BLANK = b" \t\r\n\xef\xbb\xbf"


class NotGzipError(ValueError):
    """The first bytes are not those of a gzip file; the message shows them."""


class GzipCheck:
    """Incremental gzip check, fed a file from its first byte; `problem` returns the defect so far.

    Unless `thorough`, only the beginning is inflated, at negligible cost.
    """

    def __init__(self, thorough: bool) -> None:
        self.thorough = thorough
        self.begin = b""
        self.text = b""  # first bytes of the inflated text, without leading blanks
        self._inflater = isal_zlib.decompressobj(GZIP)
        self._between_members = False
        self._broken = ""
        self._packed = self._inflated = 0

    def feed(self, piece: bytes) -> None:
        """Check the next bytes; raise `NotGzipError` as soon as they are not gzip."""
        if len(self.begin) < EXCERPT_BYTES:
            self.begin += piece[: EXCERPT_BYTES - len(self.begin)]
            if self.begin[: len(MAGIC)] != MAGIC[: len(self.begin)]:
                raise NotGzipError(f"not gzip: it begins with {self.begin!r}")
        self._packed += len(piece)
        if (self.thorough or not self.text) and not self._broken:
            for at in range(0, len(piece), STEP_BYTES):
                self._inflate(piece[at : at + STEP_BYTES])

    def problem(self) -> str:
        """Return the defect of a file that ends here; empty if it is whole, as far as it was checked."""
        if not self.begin:
            return "empty"
        if len(self.begin) < len(MAGIC):
            return f"not gzip: it is {self.begin!r}"
        if self._broken or not self.thorough:
            return self._broken
        return "" if self._between_members else "the gzip ends early"

    def _inflate(self, packed: bytes) -> None:
        while packed:
            if self._between_members:
                packed = packed.lstrip(b"\0")  # NUL padding is allowed
                if not packed:
                    return
                self._inflater = isal_zlib.decompressobj(GZIP)
                self._between_members = False
            try:
                packed = self._take(packed)
            except IsalError as error:
                self._broken = f"the gzip is broken within its first {self._packed:,} bytes: {error}"
            if self._broken:
                return

    def _take(self, packed: bytes) -> bytes:
        """Inflate within a member; return the bytes that follow it."""
        while True:
            text = self._inflater.decompress(packed, PIECE_BYTES)
            self._inflated += len(text)
            if not self.text:
                self.text = text.lstrip(BLANK)[:EXCERPT_BYTES]
            if self._inflated > max(LIMITS.ratio * self._packed, 64 << 20) or (
                self._inflated > LIMITS.inflated_bytes
            ):
                self._broken = f"{self._packed:,} bytes inflate to more than {self._inflated:,}"
                return b""
            if self._inflater.eof:
                self._between_members = True
                return self._inflater.unused_data
            packed = self._inflater.unconsumed_tail
            if not packed and not text:
                return b""
