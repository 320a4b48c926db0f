"""The assets: raw sources, the chain of a dataset, and the results of all of them."""
