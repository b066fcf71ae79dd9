"""Planes with unknowns of very many neighbors: hubs-3.py OLD NEW, two builds of `tamarack`.

Of `solve` with `auto`: operations, milliseconds of the order and of everything from the order to the solution, medians of five by turns; with two
threads and with one. Grids of five or nine points, whole or closed to cylinders and tori, with so many unknowns more that have so many of the others
for neighbors, anywhere; some are numbered at random."""
import json
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(7)
TURNS = 5


def grid_edges(width, height, closed, diagonals):
    at = np.arange(width * height).reshape(width, height)
    if closed == "torus":
        pairs = [(at, np.roll(at, 1, 0)), (at, np.roll(at, 1, 1))]
    elif closed == "cylinder":
        pairs = [(at[1:], at[:-1]), (at, np.roll(at, 1, 1))]
    else:
        pairs = [(at[1:], at[:-1]), (at[:, 1:], at[:, :-1])]
    if diagonals:
        pairs += [(at[1:, 1:], at[:-1, :-1]), (at[1:, :-1], at[:-1, 1:])]
    return [np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1)]


def plane(width, height, hubs, neighbors, closed="", diagonals=False, shuffled=False):
    rows, cols = grid_edges(width, height, closed, diagonals)
    n = width * height
    for hub in range(n, n + hubs):
        of = rng.choice(n, neighbors, replace=False)
        rows, cols = np.concatenate([rows, np.full(neighbors, hub)]), np.concatenate([cols, of])
    n += hubs
    if shuffled:
        number = rng.permutation(n)
        rows, cols = number[rows], number[cols]
    ends = np.maximum(rows, cols), np.minimum(rows, cols)
    a = sp.coo_matrix((np.ones(len(rows)), ends), shape=(n, n)).tocsc()
    a.data[:] = -1
    degree = -np.asarray(a.sum(0)).ravel() - np.asarray(a.sum(1)).ravel()
    return sp.csc_matrix(a + sp.diags(degree + 1))


def solve(build, file, threads):
    done = subprocess.run([build, "solve", file, "--json", "--threads", str(threads)], capture_output=True, check=True)
    record = json.loads(done.stdout)
    seconds = record["analysis"]["seconds"]
    total = sum(seconds.values()) + record["factorize"]["seconds"] + record["solve"]["seconds"]
    return record["analysis"]["flops"], 1e3 * seconds["order"], 1e3 * total


PLANES = {
    "torus 1000, 1 of 300": (1000, 1000, 1, 300, "torus"),
    "torus 700, 3 of 50,000": (700, 700, 3, 50_000, "torus"),
    "torus 700 shuffled, 1 of 100,000": (700, 700, 1, 100_000, "torus", False, True),
    "cylinder 400 by 2000, 5 of 1000": (400, 2000, 5, 1000, "cylinder"),
    "square 1000, 1 of all": (1000, 1000, 1, 1_000_000),
    "square 1000, 20 of 2000": (1000, 1000, 20, 2000),
    "square 800 shuffled, 4 of 3000": (800, 800, 4, 3000, "", False, True),
    "nine points 800, 2 of 100,000": (800, 800, 2, 100_000, "", True),
}
with tempfile.TemporaryDirectory() as folder:
    for name, of in PLANES.items():
        file = f"{folder}/a.npz"
        sp.save_npz(file, plane(*of), compressed=False)
        for threads in (2, 1):
            turns = [[solve(build, file, threads) for build in sys.argv[1:3]] for _ in range(TURNS)]
            (f0, o0, t0), (f1, o1, t1) = np.median(np.array(turns), axis=0)
            print(
                f"{name:34s} {threads} threads: operations {f0:.3g} {f1:.3g} {f1 / f0:.2f}, "
                f"order {o0:.0f} {o1:.0f} {o1 / o0:.2f}, all {t0:.0f} {t1:.0f} {t1 / t0:.2f}",
                flush=True,
            )
