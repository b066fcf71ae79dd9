"""Grids with a few unknowns that all others have for neighbors: hubs-1.py OLD NEW, two builds of `tamarack`.

Operations, and milliseconds of the order, of both."""
import json
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sp


def grid(side):
    line = sp.diags([2 * np.ones(side)] + 2 * [-np.ones(side - 1)], [0, 1, -1])
    one = sp.identity(side)
    return sp.kron(one, line) + sp.kron(line, one)


def with_hubs(side, hubs):
    n = side * side
    rows = np.full((hubs, n), -1e-7)
    own = grid(side) + 1e-2 * sp.identity(n)
    whole = sp.bmat([[own, rows.T], [rows, 10 * sp.identity(hubs)]])
    return sp.csc_matrix(sp.tril(whole))


with tempfile.TemporaryDirectory() as folder:
    for side, hubs in (100, 1), (200, 5), (300, 1), (400, 3), (400, 20):
        file = f"{folder}/{side}.npz"
        sp.save_npz(file, with_hubs(side, hubs))
        for ordering in "amd", "amf", "mmd", "nd", "auto":
            line = []
            for program in sys.argv[1:3]:
                run = [program, "analyze", file, "--ordering", ordering, "--json", "--threads", "1", "-q"]
                out = json.loads(subprocess.run(run, capture_output=True, check=True).stdout)["analysis"]
                line.append("%s %.4g operations, %.1f ms" % (out["ordering"], out["flops"], 1e3 * out["seconds"]["order"]))
            print(side, hubs, ordering, ": ", " -> ".join(line), sep=" ", flush=True)
