"""Grids and networks with unknowns of many neighbors: hubs-2.py OLD NEW, two builds of `tamarack`.

Operations, and milliseconds of the order, of both; two threads. MATRIX: grids of 400 by 400 with so many unknowns more, each with so many of
the others for neighbors, anywhere or in a square, some of them numbered at random; a grid of 600 by 600 in which 60 have 4000 neighbors more, anywhere; networks in which each
joins two that came before, mostly of the first ones."""
import json
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(1)


def grid_edges(side):
    at = np.arange(side * side).reshape(side, side)
    below, right = (at[1:], at[:-1]), (at[:, 1:], at[:, :-1])
    return [np.concatenate([below[k].ravel(), right[k].ravel()]) for k in (0, 1)]


def of_edges(n, rows, cols):
    rows, cols = np.asarray(rows), np.asarray(cols)
    off = rows != cols
    ends = np.maximum(rows, cols)[off], np.minimum(rows, cols)[off]
    a = sp.coo_matrix((np.ones(off.sum()), ends), shape=(n, n)).tocsc()
    a.data[:] = -1
    degree = -np.asarray(a.sum(0)).ravel() - np.asarray(a.sum(1)).ravel()
    return sp.csc_matrix(a + sp.diags(degree + 1))


def with_hubs(side, hubs, neighbors, in_a_square):
    rows, cols = grid_edges(side)
    n = side * side
    for hub in range(n, n + hubs):
        if in_a_square:
            own = int(neighbors**0.5)
            x, y = rng.integers(0, side - own, 2)
            of = ((x + np.arange(own))[:, None] * side + y + np.arange(own)).ravel()
        else:
            of = rng.choice(n, neighbors, replace=False)
        rows, cols = np.concatenate([rows, np.full(len(of), hub)]), np.concatenate([cols, of])
    return of_edges(n + hubs, rows, cols)


def shuffled(a):
    a, p = a.tocoo(), rng.permutation(a.shape[0])
    ends = np.maximum(p[a.row], p[a.col]), np.minimum(p[a.row], p[a.col])
    return sp.coo_matrix((a.data, ends), shape=a.shape).tocsc()


def airports(side, hubs, neighbors):
    rows, cols = grid_edges(side)
    n = side * side
    of = np.repeat(rng.integers(0, n, hubs), neighbors)
    return of_edges(n, np.concatenate([rows, of]), np.concatenate([cols, rng.integers(0, n, len(of))]))


def skewed(n, power):
    new = np.repeat(np.arange(1, n), 2)
    return of_edges(n, new, (new * rng.random(len(new)) ** power).astype(int))


cases = {
    "20 of 3000 anywhere": lambda: with_hubs(400, 20, 3000, False),
    "20 of 3000 in squares": lambda: with_hubs(400, 20, 3000, True),
    "5 of 30000 anywhere": lambda: with_hubs(400, 5, 30000, False),
    "5 of 30000 in squares": lambda: with_hubs(400, 5, 30000, True),
    "300 of 400 anywhere": lambda: with_hubs(400, 300, 400, False),
    "300 of 400 in squares": lambda: with_hubs(400, 300, 400, True),
    "350 of 1500 anywhere": lambda: with_hubs(400, 350, 1500, False),
    "350 of 1500 in squares": lambda: with_hubs(400, 350, 1500, True),
    "100 of 4900 in squares": lambda: with_hubs(400, 100, 4900, True),
    "20 of 3000 anywhere, shuffled": lambda: shuffled(with_hubs(400, 20, 3000, False)),
    "5 of 30000 anywhere, shuffled": lambda: shuffled(with_hubs(400, 5, 30000, False)),
    "airports": lambda: airports(600, 60, 4000),
    "skewed, power 3": lambda: skewed(200_000, 3),
    "skewed, power 5": lambda: skewed(200_000, 5),
}
with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/a.npz"
    for name, make in cases.items():
        sp.save_npz(file, make())
        for ordering in "amd", "nd", "auto":
            line = []
            for program in sys.argv[1:3]:
                run = [program, "analyze", file, "--ordering", ordering, "--json", "--threads", "2", "-q"]
                out = json.loads(subprocess.run(run, capture_output=True, check=True).stdout)["analysis"]
                line.append("%s %.3g operations, %.0f ms" % (out["ordering"], out["flops"], 1e3 * out["seconds"]["order"]))
            print(f"{name}, {ordering}:", " -> ".join(line), flush=True)
