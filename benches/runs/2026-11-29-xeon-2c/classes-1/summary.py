"""Writes summary.txt from raw.jsonl, both in this folder: of each matrix and number of threads the ratios of Tamarack's medians to the best of
PARDISO's (first factorization, refactorization, solves with one and sixteen right-hand sides, peak memory), in brackets ours in ms; then Gflop of the
exact L, GFLOP/s of a refactorization, millions of entries of L, and the analyses in ms, where METIS's order was given to Tamarack and found by PARDISO."""
import json, pathlib, statistics
here = pathlib.Path(__file__).parent
phases = ("first_secs", "refactor_secs", "solve_1_secs", "solve_16_secs", "peak_bytes")
runs = {}
for line in (here / "raw.jsonl").read_text().splitlines():
    run = json.loads(line)
    runs.setdefault(run["matrix"], {}).setdefault(run["threads"], {}).setdefault(run["solver"], []).append(run)
def median(turns, key):
    values = [turn[key] for turn in turns]
    return statistics.median(x for v in values for x in (v if isinstance(v, list) else [v]))
with open(here / "summary.txt", "w") as out:
    for matrix, by_threads in runs.items():
        for threads, solvers in sorted(by_threads.items()):
            ours = solvers.pop("tamarack")
            best = lambda key: min(median(turns, key) for turns in solvers.values())
            words = [f"{matrix:19} x{threads}"]
            for key in phases:
                time = f" ({1e3 * median(ours, key):6.1f})" if key.endswith("secs") else ""
                words.append(f"{median(ours, key) / best(key):.2f}{time}")
            gflop = ours[0]["gflop"]
            words.append(f"{gflop:.2f} Gflop at {gflop / median(ours, 'refactor_secs'):.1f}, {ours[0]['nnz_l_millions']:.2f} M")
            words.append(f"analysis {1e3 * median(ours, 'symbolic_secs'):.0f} and {1e3 * best('order_secs'):.0f}")
            print("  ".join(words), file=out)
