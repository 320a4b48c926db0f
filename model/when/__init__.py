"""When a node's next event comes: a calibrated distribution of its wait."""
