"""What is measured: metrics, baselines, agreement with known graphs, and the warehouse. No torch."""
