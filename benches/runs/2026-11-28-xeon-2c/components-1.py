"""Operations of graphs that are not connected: components-1.py OLD NEW FOLDER, two builds of the program `tamarack`."""
import itertools
import json
import subprocess
import sys


def grid(*sides):
    """Edges of a grid, and how many points it has."""
    strides = [1]
    for side in sides:
        strides.append(strides[-1] * side)
    edges = []
    for point in itertools.product(*(range(side) for side in sides)):
        v = sum(x * stride for x, stride in zip(point, strides))
        edges += [(v, v + stride) for x, side, stride in zip(point, sides, strides) if x + 1 < side]
    return edges, strides[-1]


def torus(side):
    edges, n = grid(side, side)
    edges += [(k * side, k * side + side - 1) for k in range(side)]
    edges += [(k, k + side * (side - 1)) for k in range(side)]
    return edges, n


def beside(*graphs):
    """Graphs one after the other; a number is so many points without neighbors."""
    edges, n = [], 0
    for graph in graphs:
        more, count = ([], graph) if isinstance(graph, int) else graph
        edges += [(a + n, b + n) for a, b in more]
        n += count
    return edges, n


def identity_rows(*sides):
    """A grid whose boundary points are kept as rows of the identity."""
    edges, n = grid(*sides)
    inner, v = [], 0
    for point in itertools.product(*(range(side) for side in reversed(sides))):
        inner.append(all(0 < x < side - 1 for x, side in zip(point, reversed(sides))))
    return [(a, b) for a, b in edges if inner[a] and inner[b]], n


GRAPHS = {
    "cube 48": (grid(48, 48, 48), "nd"),
    "cube 48 behind a point": (beside(1, grid(48, 48, 48)), "nd"),
    "cube 48 before a point": (beside(grid(48, 48, 48), 1), "nd"),
    "cube 48, inner points of 50": (identity_rows(50, 50, 50), "nd"),
    "two cubes 48": (beside(grid(48, 48, 48), grid(48, 48, 48)), "nd"),
    "four cubes 30": (beside(*[grid(30, 30, 30)] * 4), "nd"),
    "square 600, inner points of 602": (identity_rows(602, 602), "nd"),
    "1,500,000 points": (beside(1_500_000, grid(2, 2)), "nd"),
    "torus 420": (torus(420), "amf"),
    "torus 420 behind a point": (beside(1, torus(420)), "amf"),
    "two tori 420": (beside(torus(420), torus(420)), "amf"),
}

old, new, folder = sys.argv[1:]
for name, ((edges, n), ordering) in GRAPHS.items():
    path = f"{folder}/graph.mtx"
    with open(path, "w") as out:
        out.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {n + len(edges)}\n")
        out.writelines(f"{v} {v} 8\n" for v in range(1, n + 1))
        out.writelines(f"{max(a, b) + 1} {min(a, b) + 1} -1\n" for a, b in edges)
    said = []
    for build in (old, new):
        runs = []
        for _ in range(3):
            command = [build, "analyze", path, "--ordering", ordering, "--threads", "2", "--json", "-q"]
            analysis = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["analysis"]
            runs.append(analysis["seconds"]["order"])
        said.append(f"{analysis['flops'] / 1e9:.3f} Gflop, order {sorted(runs)[1] * 1e3:.0f} ms")
    print(f"{name}, {ordering}: {said[0]}; {said[1]}", flush=True)
