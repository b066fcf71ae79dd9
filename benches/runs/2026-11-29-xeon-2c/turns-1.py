"""Two builds of the command line by turns: turns-1.py refactor|order OLD NEW TURNS THREADS MATRIX... (THREADS as 1,2).
Milliseconds: medians of the turns (of refactorizations, of their medians of five) and the least of all."""
import json, os, statistics, subprocess, sys
what, old, new, turns, threads, matrices = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5].split(","), sys.argv[6:]
for matrix in matrices:
    for count in threads:
        found = {old: [], new: []}
        for _ in range(turns):
            for program, list_of in found.items():
                command = ["bench", "--repeat", "5"] if what == "refactor" else ["analyze"]
                command = [program, *command, "--json", "-q", "--threads", count, matrix]
                result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                if what == "refactor":
                    turn = result["phases"]["refactorization"]
                    list_of.append((turn["median"], turn["min"]))
                else:
                    list_of.append(2 * (result["analysis"]["seconds"]["order"],))
        medians = [1e3 * statistics.median(turn[0] for turn in list_of) for list_of in found.values()]
        least = [1e3 * min(turn[1] for turn in list_of) for list_of in found.values()]
        print(f"{os.path.basename(matrix)} threads {count}: median {medians[0]:.1f} -> {medians[1]:.1f}, least {least[0]:.1f} -> {least[1]:.1f}", flush=True)
