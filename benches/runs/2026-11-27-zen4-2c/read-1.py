"""read-1.py ROUNDS BEFORE AFTER FILE..: `tamarack info`, by turns that begin with either program: medians and ranges of what reading took, in milliseconds."""

import json
import statistics
import subprocess
import sys

rounds, programs = int(sys.argv[1]), sys.argv[2:4]
for name in sys.argv[4:]:
    ms = {program: [] for program in programs}
    for turn in range(rounds):
        for program in programs if turn % 2 == 0 else programs[::-1]:
            report = json.loads(subprocess.run([program, "info", name, "--json"], capture_output=True, text=True).stdout)
            ms[program].append(1e3 * report["matrix"]["seconds"])
    before, after = (statistics.median(ms[program]) for program in programs)
    ranges = ", ".join(f"{min(of):.1f} to {max(of):.1f}" for of in ms.values())
    print(f"{name.rsplit('/', 1)[-1]} {before:.1f} -> {after:.1f} ms ({after / before:.2f}; {ranges})", flush=True)
