"""Two builds of the driver by turns: refactor-1.py OLD NEW ROUNDS FOLDER MATRIX... (FOLDER has MATRIX.bin and METIS's order MATRIX.i32)."""
import json
import subprocess
import sys

old, new, rounds, folder, *matrices = sys.argv[1:]
for matrix in matrices:
    for threads in "12":
        times = {build: {} for build in (old, new)}
        for _ in range(int(rounds)):
            for build in (old, new):
                command = [build, "tamarack", f"{folder}/{matrix}.bin", matrix, threads, f"{folder}/{matrix}.i32"]
                record = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                for phase in ("refactor_secs", "solve_1_secs", "solve_16_secs"):
                    times[build].setdefault(phase, []).extend(record[phase])
        for phase in ("refactor_secs", "solve_1_secs", "solve_16_secs"):
            a, b = (sorted(times[build][phase]) for build in (old, new))
            middle = len(a) // 2
            print(f"{matrix} x{threads} {phase[:-5]}: least {a[0] * 1e3:.2f} and {b[0] * 1e3:.2f} ms, {b[0] / a[0]:.2f}; "
                  f"medians {a[middle] * 1e3:.2f} and {b[middle] * 1e3:.2f} ms, {b[middle] / a[middle]:.2f}", flush=True)
