"""Phases of two builds of the command, by turns: border-1.py OLD NEW ROUNDS FILE... prints medians in ms of the medians of five. Without a file it writes
the matrices of its own: what every unknown depends on beside blocks, a grid, or unknowns of which half do."""
import json, os, statistics, subprocess, sys

PHASES = ["order", "symbolic", "first_factorization", "refactorization", "solve_1", "solve_refined"]


def write():
    import numpy as np, scipy.sparse as sp

    def dominant(name, pattern):
        a = sp.csr_matrix(pattern)
        a.setdiag(0)
        a.eliminate_zeros()
        a.data[:] = -1.0
        d = 1.0 - np.asarray(a.sum(1)).ravel()
        sp.save_npz(name, (a + sp.diags(d)).tocsc(), compressed=False)

    def bordered(inner, width):
        n = inner.shape[0]
        return sp.bmat([[inner, np.ones((n, width))], [np.ones((width, n)), np.ones((width, width))]])

    random, n, width = np.random.default_rng(1), 200_000, 60
    half = sp.csr_matrix((random.random((width, n)) < 0.5).astype(float))
    dominant("half200000x60", sp.bmat([[sp.identity(n), half.T], [half, np.ones((width, width))]]))
    dominant("blocks50000x4_60", bordered(sp.kron(sp.identity(50_000), np.ones((4, 4))), 60))
    step = sp.diags([np.ones(449), np.ones(449)], [-1, 1])
    grid = sp.kron(step, sp.identity(450)) + sp.kron(sp.identity(450), step) + sp.identity(450 * 450)
    dominant("grid450_20", bordered(grid, 20))


def run(command, file, threads):
    args = [command, "bench", "--json", "-q", "--threads", str(threads), "--repeat", "5", file]
    phases = json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)["phases"]
    return [1e3 * phases[phase]["median"] for phase in PHASES]


if len(sys.argv) == 1:
    write()
else:
    old, new, rounds, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    print("matrix, threads: " + ", ".join(PHASES) + " in ms", flush=True)
    for file in files:
        for threads in (1, 2):
            found = {"before": [], "now": []}
            for _ in range(rounds):
                for name, command in (("before", old), ("now", new)):
                    found[name].append(run(command, file, threads))
            for name, runs in found.items():
                text = " ".join(f"{statistics.median(r[k] for r in runs):8.1f}" for k in range(len(PHASES)))
                print(f"{os.path.basename(file).removesuffix('.npz'):20} {threads} {name:6} {text}", flush=True)
