"""`make bench`: the measurements that need no data, one after the other, each in a process of its own."""

import subprocess
import sys

for name in ("gharchive", "training", "history"):
    arguments = ["--nodes", "3000"] if name == "history" else []
    print(f"\n== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=True)
