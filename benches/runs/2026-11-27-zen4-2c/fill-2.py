"""fill-2.py ROUNDS BEFORE AFTER FILE|model:NAME..: `tamarack solve` with two threads, by turns: the program before with auto, the one after
with auto, amd, amf and nd. Medians of analysis, first factorization and first solve together, in milliseconds; in brackets the order."""

import json
import statistics
import subprocess
import sys

rounds, before, after = int(sys.argv[1]), sys.argv[2], sys.argv[3]
runs = {"before": (before, "auto"), "auto": (after, "auto"), "amd": (after, "amd"), "amf": (after, "amf"), "nd": (after, "nd")}
for name in sys.argv[4:]:
    secs, taken = {run: [] for run in runs}, {}
    for _ in range(rounds):
        for run, (program, ordering) in runs.items():
            command = [program, "solve", name, "--json", "--threads", "2", "--ordering", ordering]
            report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
            parts = report["analysis"]["seconds"]
            rest = parts["symbolic"] + parts["plan"] + report["factorize"]["seconds"] + report["solve"]["seconds"]
            secs[run].append((parts["order"] + rest, parts["order"]))
            taken[run] = report["analysis"]["ordering"]
    ms = {run: [1e3 * statistics.median(s[k] for s in secs[run]) for k in (0, 1)] for run in runs}
    columns = [f"{run} {ms[run][0]:.1f} ({ms[run][1]:.1f})" for run in runs]
    ratio, best = ms["auto"][0] / ms["before"][0], ms["auto"][0] / min(ms["amd"][0], ms["nd"][0])
    print(f"{name} {taken['before']} to {taken['auto']}: {', '.join(columns)}; {ratio:.2f} of before, {best:.2f} of the better of amd and nd", flush=True)
