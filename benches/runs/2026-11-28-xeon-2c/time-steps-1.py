"""Time steps K + m·I: time-steps-1.py FOLDER OLD NEW, two builds of `tamarack`.

Writes the matrices to FOLDER, then prints for every precision the seconds of the factorization and of the refined solve of both builds, medians of
three by turns, two threads."""
import json
import subprocess
import sys

import numpy as np
import scipy.sparse as sp

TURNS = 3


def line(n):
    off = -np.ones(n - 1)
    return sp.diags([off, 2 * np.ones(n), off], [-1, 0, 1])


def plane(n):
    return sp.kron(sp.identity(n), line(n)) + sp.kron(line(n), sp.identity(n))


def cube(n):
    return sp.kron(sp.identity(n), plane(n)) + sp.kron(line(n), sp.identity(n * n))


def times(build, file, precision):
    command = [build, "solve", file, "--json", "--threads", "2", "--precision", precision]
    record = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert record["accuracy"]["solved"]
    return record["factorize"]["seconds"], record["solve"]["seconds"]


folder, builds = sys.argv[1], sys.argv[2:4]
for name, stiffness, masses in (("plane_1000", plane(1000), (0, 20)), ("cube_60", cube(60), (0, 300))):
    for mass in masses:
        file = f"{folder}/{name}_{mass}.npz"
        sp.save_npz(file, sp.csc_matrix(stiffness + mass * sp.identity(stiffness.shape[0])), compressed=False)
        for precision in ("f64", "f32"):
            turns = [[times(build, file, precision) for build in builds] for _ in range(TURNS)]
            (f0, s0), (f1, s1) = np.median(np.array(turns), axis=0)
            print(
                f"{name:10s} mass {mass:3d} {precision}: factorization {f0:.3f} {f1:.3f} {f1 / f0:.2f}, solve {s0:.3f} {s1:.3f} {s1 / s0:.2f}",
                flush=True,
            )
