"""fill-4.py PROGRAM [FILE|model:NAME ORDERING]..: `tamarack solve` with two threads by auto and by that ordering, fifteen turns, either one first
every other time. Medians in milliseconds: order, symbolic, plan, first factorization, solve; then all together, and the least."""

import json
import statistics
import subprocess
import sys

program, pairs = sys.argv[1], sys.argv[2:]
for name, other in zip(pairs[::2], pairs[1::2]):
    runs = {"auto": [], other: []}
    for turn in range(15):
        for ordering in list(runs)[:: 1 if turn % 2 else -1]:
            command = [program, "solve", name, "--json", "--threads", "2", "--ordering", ordering]
            report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
            parts = report["analysis"]["seconds"]
            phases = [parts["order"], parts["symbolic"], parts["plan"], report["factorize"]["seconds"], report["solve"]["seconds"]]
            runs[ordering].append([1e3 * secs for secs in phases])
    total = {ordering: [sum(phases) for phases in runs[ordering]] for ordering in runs}
    for ordering, lines in runs.items():
        medians = ", ".join(f"{statistics.median(column):.1f}" for column in zip(*lines))
        print(f"{name} {ordering}: {medians}; {statistics.median(total[ordering]):.1f}, least {min(total[ordering]):.1f}")
    print(f"{name}: {statistics.median(total['auto']) / statistics.median(total[other]):.2f}", flush=True)
