"""Refactorizations by two builds of the command line by turns: leaves-1.py OLD NEW TURNS THREADS MATRIX... (THREADS as 1,2).
Milliseconds: medians of the turns' medians of five, and the least of all."""
import json, os, statistics, subprocess, sys
old, new, turns, threads, matrices = *sys.argv[1:3], int(sys.argv[3]), sys.argv[4].split(","), sys.argv[5:]
for matrix in matrices:
    for count in threads:
        found = {old: [], new: []}
        for _ in range(turns):
            for program, list_of in found.items():
                command = [program, "bench", "--json", "-q", "--threads", count, "--repeat", "5", matrix]
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                list_of.append(json.loads(run.stdout)["phases"]["refactorization"])
        medians = [1e3 * statistics.median(turn["median"] for turn in list_of) for list_of in found.values()]
        least = [1e3 * min(turn["min"] for turn in list_of) for list_of in found.values()]
        print(f"{os.path.basename(matrix)} threads {count}: median {medians[0]:.1f} -> {medians[1]:.1f}, least {least[0]:.1f} -> {least[1]:.1f}", flush=True)
