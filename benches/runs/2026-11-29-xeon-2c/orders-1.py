"""Orders by two builds of the command line by turns: orders-1.py OLD NEW TURNS THREADS MATRIX... (THREADS as 1,2).
Milliseconds: medians and the least."""
import json, os, statistics, subprocess, sys
old, new, turns, threads, matrices = *sys.argv[1:3], int(sys.argv[3]), sys.argv[4].split(","), sys.argv[5:]
for matrix in matrices:
    for count in threads:
        found = {old: [], new: []}
        for _ in range(turns):
            for program, list_of in found.items():
                command = [program, "analyze", "--json", "-q", "--threads", count, matrix]
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                list_of.append(1e3 * json.loads(run.stdout)["analysis"]["seconds"]["order"])
        medians = [statistics.median(list_of) for list_of in found.values()]
        least = [min(list_of) for list_of in found.values()]
        print(f"{os.path.basename(matrix)} threads {count}: median {medians[0]:.0f} -> {medians[1]:.0f}, least {least[0]:.0f} -> {least[1]:.0f}", flush=True)
