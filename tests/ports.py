"""Ports of 127.0.0.1 for the servers of tests."""

import random
import socket

# Below those that a system gives to connections: a server that is started again finds its port as it left it.
NOT_GIVEN = range(20_000, 32_000)


def free_port() -> int:
    for port in random.sample(NOT_GIVEN, k=len(NOT_GIVEN)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
