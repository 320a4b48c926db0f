"""The embedded sample world: both raw sources, with a planted graph."""
