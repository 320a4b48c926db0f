"""Models of other libraries beside `rem`, on the same events and ranked by the same rule: docs/peers.md."""
