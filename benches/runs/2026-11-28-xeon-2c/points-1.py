"""Points in space joined to their nearest ones, from order to solution: `points-1.py OLD NEW TURNS` writes the matrices to a temporary folder and solves each with
`auto` of both programs and with amf and nd of the new one, by turns; medians and (least) in ms, and what `auto` took before and after."""

import json, random, statistics, subprocess, sys, tempfile

old, new, turns = sys.argv[1:4]


def in_space(n, nearest, rng):
    side = int((n / 3) ** (1 / 3))
    points = [[rng.random() for _ in range(3)] for _ in range(n)]
    boxes = {}
    for i, p in enumerate(points):
        boxes.setdefault(tuple(int(side * x) for x in p), []).append(i)
    edges = set()
    for i, p in enumerate(points):
        a, b, c = (int(side * x) for x in p)
        around = [(x, y, z) for x in (a - 1, a, a + 1) for y in (b - 1, b, b + 1) for z in (c - 1, c, c + 1)]
        near = [j for box in around for j in boxes.get(box, []) if j != i]
        near.sort(key=lambda j: sum((x - y) ** 2 for x, y in zip(p, points[j])))
        edges.update((max(i, j), min(i, j)) for j in near[:nearest])
    return edges


def write(path, n, edges):
    degree = [1] * n
    for a, b in edges:
        degree[a] += 1
        degree[b] += 1
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(edges) + n}\n")
        file.writelines(f"{i + 1} {i + 1} {degree[i]}\n" for i in range(n))
        file.writelines(f"{a + 1} {b + 1} -1\n" for a, b in sorted(edges))


def run(program, matrix, threads, ordering):
    command = [program, "solve", matrix, "--json", "-q", "--threads", threads, "--ordering", ordering]
    of = json.loads(subprocess.run(command, capture_output=True).stdout)
    s = of["analysis"]["seconds"]
    whole = s["order"] + s["symbolic"] + s["plan"] + of["factorize"]["seconds"] + of["solve"]["seconds"]
    return whole * 1e3, of["analysis"]["ordering"]


def compare(name, matrix, threads):
    ways = [(old, "auto"), (new, "auto"), (new, "amf"), (new, "nd")]
    found = [[] for _ in ways]
    for turn in range(int(turns)):
        for k in list(range(len(ways)))[:: 1 if turn % 2 == 0 else -1]:
            found[k].append(run(ways[k][0], matrix, threads, ways[k][1]))
    names = [runs[0][1] for runs in found]
    times = [[whole for whole, _ in runs] for runs in found]
    (before, after, fill, nd), least = map(statistics.median, times), list(map(min, times))
    print(f"{name:28} {threads} threads, {names[0]} -> {names[1]} {before:.0f} ({least[0]:.0f}) -> {after:.0f} ({least[1]:.0f}), ratio {after / before:.2f} ({least[1] / least[0]:.2f});",
          f"amf {fill:.0f} ({least[2]:.0f}), nd {nd:.0f} ({least[3]:.0f})", flush=True)


rng = random.Random(1)
print(f"medians of {turns}")
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/a.mtx"
    for n, nearest in [(30_000, 5), (30_000, 8), (60_000, 5), (60_000, 6), (60_000, 8), (60_000, 12)]:
        write(path, n, in_space(n, nearest, rng))
        for threads in ("1", "2"):
            compare(f"{n:,} points, {nearest} nearest", path, threads)
for model in ("model:p3d7_40", "model:p3d27_30"):
    for threads in ("1", "2"):
        compare(model, model, threads)
