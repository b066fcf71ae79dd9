"""Times of orderings by two builds of the command, by turns: long-1.py OLD NEW ROUNDS FILE.npz... prints medians in ms."""
import json, os, statistics, subprocess, sys

old, new, rounds, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]


def run(command, file, ordering, threads):
    args = [command, "solve", "--json", "-q", "--threads", str(threads), "--ordering", ordering, file]
    d = json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)
    a, s = d["analysis"], d["analysis"]["seconds"]
    times = [s["order"], s["symbolic"] + s["plan"], d["factorize"]["seconds"], d["solve"]["seconds"]]
    return a["ordering"], a["flops"], times + [sum(times)]


print("matrix, threads, ordering: order, symbolic and plan, factorization, solve, all together in ms; Gflop")
for file in files:
    for threads in (1, 2):
        cases = [("before", old, "auto"), ("now", new, "auto"), ("amd", new, "amd"), ("amf", new, "amf"), ("nd", new, "nd")]
        found = {name: [] for name, _, _ in cases}
        for _ in range(rounds):
            for name, command, ordering in cases:
                found[name].append(run(command, file, ordering, threads))
        for name, results in found.items():
            medians = [1e3 * statistics.median(r[2][k] for r in results) for k in range(5)]
            text = " ".join(f"{ms:7.0f}" for ms in medians)
            title = os.path.basename(file).removesuffix(".npz")
            print(f"{title:20} {threads} {name:6} {text}  {results[0][1] / 1e9:8.3f} {results[0][0]}", flush=True)
