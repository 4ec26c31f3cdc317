"""Time `import grpo_envs` in fresh interpreters.

Usage: python benchmarks/imports.py [RUNS]. Prints one JSON line, with what Gymnasium alone takes beside it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

BAR_S = 0.3
CODE = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"


def median_s(module: str, runs: int) -> float:
    """Return the median seconds that an import takes, after one that warms the disk's cache."""
    command = [sys.executable, "-c", CODE.format(module=module)]
    times = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(runs + 1)]
    return statistics.median(times[1:])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    ours, gymnasium = median_s("grpo_envs", runs), median_s("gymnasium", runs)
    bar = {"name": f"import grpo_envs, median of {runs}", "value": round(ours, 3), "unit": "s", "goal": f"< {BAR_S}"}
    print(json.dumps({"bars": [{**bar, "holds": ours < BAR_S}], "gymnasium_alone_s": round(gymnasium, 3)}))


if __name__ == "__main__":
    main()
