"""The followed archive: whom to follow, what they did, what was forecast and how it came out."""
