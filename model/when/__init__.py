"""When the next event of a node, or of a pair, comes: calibrated distributions of waits."""
