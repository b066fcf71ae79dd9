"""First factorizations over the median of the refactorizations behind them, by turns, beside warm memory.

first-6.py WARM THREADS TURNS MATRIX,... PROGRAM...

WARM is a command that touches and gives back some GiB. For each program the first one of each process, their median, and that of the later ones.
"""
import json
import statistics
import subprocess
import sys

warm, threads, turns, matrices, *programs = sys.argv[1:]
for matrix in matrices.split(","):
    found = {program: ([], []) for program in programs}
    for _ in range(int(turns)):
        subprocess.run(warm.split(), capture_output=True, check=True)
        for program in programs:
            command = [program, "bench", matrix, "--threads", threads, "--json"]
            phases = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["phases"]
            first, again = phases["first_factorization"]["all"], phases["refactorization"]["median"]
            found[program][0].append(first[0] / again)
            found[program][1].append(statistics.median(first[1:]) / again)
    for program, (first, later) in found.items():
        turns_ = " ".join(f"{x:.2f}" for x in first)
        print(f"{matrix} {threads} {program}: first {statistics.median(first):.2f} ({turns_}) later {statistics.median(later):.2f}", flush=True)
