"""cold-1.py ROUNDS BEFORE AFTER FILE|model:NAME..: `tamarack solve` with two threads, by turns that begin with either program, four seconds after the last one, when
the host of this virtual machine has taken back what is free. Medians in milliseconds: the whole command, reading, order, symbolic, first factorization, solve."""

import json
import statistics
import subprocess
import sys
import time

rounds, programs = int(sys.argv[1]), sys.argv[2:4]
for name in sys.argv[4:]:
    ms = {program: [] for program in programs}
    for turn in range(rounds):
        for program in programs if turn % 2 == 0 else programs[::-1]:
            time.sleep(4)
            start = time.monotonic()
            run = subprocess.run([program, "solve", name, "--json", "--threads", "2"], capture_output=True, text=True)
            whole = time.monotonic() - start
            report = json.loads(run.stdout)
            analysis = report["analysis"]["seconds"]
            phases = [report["matrix"]["seconds"], analysis["order"], analysis["symbolic"], report["factorize"]["seconds"], report["solve"]["seconds"]]
            ms[program].append([1e3 * secs for secs in (whole, *phases)])
    for which, program in zip(("before", "after"), programs):
        medians = [statistics.median(column) for column in zip(*ms[program])]
        print(name.rsplit("/", 1)[-1], which, *(f"{value:.1f}" for value in medians), flush=True)
