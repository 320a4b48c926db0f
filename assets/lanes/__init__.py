"""The assets: raw sources, the chain of each dataset, and the results over all datasets."""
