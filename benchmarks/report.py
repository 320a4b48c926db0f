"""The report of a large dataset: time to write it, its size, and how long one drag step takes in a browser.

`python -m benchmarks.report --nodes 2000`
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
from pipeline.show.report import write_report
from tests.small_world import store_results

STEPS = 40
# Each step is timed until the browser has painted it: the frame after the next has begun.
DRAG = """
async (steps) => {
  const slider = document.getElementById("time"), took = [];
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let step = 0; step < steps; step++) {
    const start = performance.now();
    slider.value = step;
    slider.dispatchEvent(new Event("input"));
    const drawn = performance.now() - start;
    await frame();
    took.push([drawn, performance.now() - start]);
  }
  return took;
}
"""


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2_000)
    nodes = parser.parse_args().nodes
    program = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        None,
    )
    if program is None:
        raise SystemExit("no browser at hand: install chromium or google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lake = Lake(Path(folder))
        variants = ["ldg_learned_sparse-bilinear"]
        store_results(lake, nodes=nodes, events=4 * nodes, variants=variants, seeds=1, snapshots=STEPS)
        build_warehouse(lake)
        start = time.perf_counter()
        path = write_report(lake)
        seconds = time.perf_counter() - start
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector("#explorer[data-ready]")
        took = page.evaluate(DRAG, STEPS)
        browser.close()
        drawn, painted = zip(*took, strict=True)
        print(
            json.dumps(
                {
                    "nodes": nodes,
                    "write_report_seconds": round(seconds, 2),
                    "page_megabytes": round(path.stat().st_size / 1e6, 2),
                    "drag_step_ms_median": round(statistics.median(drawn), 1),
                    "drag_step_ms_worst": round(max(drawn), 1),
                    "drag_step_painted_ms_median": round(statistics.median(painted), 1),
                },
                indent=2,
            )
        )


if __name__ == "__main__":
    main()
