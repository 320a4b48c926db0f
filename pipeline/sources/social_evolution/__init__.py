"""MIT Social Evolution: raw files to events."""
