"""Thin grids in their natural order, from order to solution: `unlucky-1.py OLD NEW THREADS` writes the matrices to a temporary folder and solves each with `auto` of
both programs and with amd, amf and nd of the new one, five turns; medians in ms: order + first factorization, all."""

import json, statistics, subprocess, sys, tempfile

old, new, threads = sys.argv[1:4]


def box(sides, steps):
    a, b, c = sides
    at = lambda i, j, k: (i * b + j) * c + k
    for i in range(a):
        for j in range(b):
            for k in range(c):
                for di, dj, dk in steps:
                    x, y, z = i + di, j + dj, k + dk
                    if 0 <= x < a and 0 <= y < b and 0 <= z < c:
                        yield at(i, j, k), at(x, y, z)


def two_fields(m):
    """A plane with two unknowns at each vertex, neighbors up to two steps away, and a third at every second vertex that is joined to all of these."""
    for i in range(m):
        for j in range(m):
            for x in range(max(0, i - 2), min(m, i + 3)):
                for y in range(max(0, j - 2), min(m, j + 3)):
                    for f in (0, 1):
                        yield (i * m + j) * 2 + f, (x * m + y) * 2 + f
                        if (i + j) % 2 == 0:
                            yield 2 * m * m + (i * m + j) // 2, (x * m + y) * 2 + f


def write(path, edges):
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges if a != b})
    n = 1 + max(b for _, b in pairs)
    degree = [1] * n
    for a, b in pairs:
        degree[a] += 1
        degree[b] += 1
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(pairs) + n}\n")
        file.writelines(f"{i + 1} {i + 1} {degree[i]}\n" for i in range(n))
        file.writelines(f"{b + 1} {a + 1} -1\n" for a, b in pairs)


def run(program, path, ordering):
    command = [program, "solve", path, "--json", "-q", "--threads", threads, "--refine", "off", "--ordering", ordering]
    of = json.loads(subprocess.run(command, capture_output=True).stdout)
    s, factorize = of["analysis"]["seconds"], of["factorize"]["seconds"]
    whole = s["order"] + s["symbolic"] + s["plan"] + factorize + of["solve"]["seconds"]
    return s["order"] * 1e3, factorize * 1e3, whole * 1e3, of["analysis"]["ordering"]


star = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
cube = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
with tempfile.TemporaryDirectory() as folder:
    cases = {
        "120 x 120 x 4, 27 points": box((120, 120, 4), cube),
        "200 x 60 x 6, 27 points": box((200, 60, 6), cube),
        "20 x 20 x 300, 7 points": box((20, 20, 300), star),
        "150 x 150 x 5, 7 points": box((150, 150, 5), star),
        "30 x 30 x 30, 7 points": box((30, 30, 30), star),
        "two fields and a third, 120 x 120": two_fields(120),
    }
    for name, edges in cases.items():
        write(folder + "/a.mtx", edges)
        runs = {"auto before": (old, "auto"), "auto": (new, "auto"), "amd": (new, "amd"), "amf": (new, "amf"), "nd": (new, "nd")}
        found = {key: [] for key in runs}
        for turn in range(5):
            for key, (program, ordering) in runs.items():
                found[key].append(run(program, folder + "/a.mtx", ordering))
        texts = []
        for key, values in found.items():
            order, factorize, whole = (statistics.median(v[k] for v in values) for k in range(3))
            taken = f" ({values[0][3]})" if key.startswith("auto") else ""
            texts.append(f"{key}{taken} {order:.0f} + {factorize:.0f}, {whole:.0f}")
        print(f"{name}, threads {threads}: " + "; ".join(texts), flush=True)
