"""Graphs without good levels, from order to solution: `scattered-1.py OLD NEW THREADS TURNS` writes the matrices to a temporary folder and solves each with `auto` of
both programs by turns, either first every other time, and with amd, amf and nd of the new one; medians and (least) in ms, and what `auto` took before and after."""

import json, random, statistics, subprocess, sys, tempfile

old, new, threads, turns = sys.argv[1:5]


def shuffled(n, edges, rng):
    numbers = list(range(n))
    rng.shuffle(numbers)
    return n, [(numbers[a], numbers[b]) for a, b in edges]


def communities(count, size, degree, links, rng):
    n = count * size
    inside = []
    for _ in range(n * degree // 2):
        a = rng.randrange(n)
        inside.append((a, a // size * size + rng.randrange(size)))
    return shuffled(n, inside + [(rng.randrange(n), rng.randrange(n)) for _ in range(links)], rng)


def small_world(n, near, share, rng):
    end = lambda i, step: rng.randrange(n) if rng.random() < share else (i + step) % n
    return n, [(i, end(i, step)) for i in range(n) for step in range(1, near + 1)]


def triangles(side, links, rng):
    n = side * side
    edges = [(i, i + side) for i in range(n - side)]
    edges += [(i, i + d) for i in range(n - side - 1) if i % side < side - 1 for d in (1, side + 1)]
    return n, edges + [(rng.randrange(n), rng.randrange(n)) for _ in range(links)]


def in_space(n, nearest, rng):
    """Points in a cube, each joined to the nearest ones."""
    side = int((n / 3) ** (1 / 3))
    points = [[rng.random() for _ in range(3)] for _ in range(n)]
    boxes = {}
    for i, p in enumerate(points):
        boxes.setdefault(tuple(int(side * x) for x in p), []).append(i)
    edges = []
    for i, p in enumerate(points):
        a, b, c = (int(side * x) for x in p)
        around = [(x, y, z) for x in (a - 1, a, a + 1) for y in (b - 1, b, b + 1) for z in (c - 1, c, c + 1)]
        near = [j for box in around for j in boxes.get(box, []) if j != i]
        near.sort(key=lambda j: sum((x - y) ** 2 for x, y in zip(p, points[j])))
        edges += [(i, j) for j in near[:nearest]]
    return n, edges


def grid(sides, periodic):
    a, b, c = sides
    at = lambda i, j, k: (i % a * b + j % b) * c + k % c
    inside = lambda i, j, k: periodic or (i < a and j < b and k < c)
    vertices = [(i, j, k) for i in range(a) for j in range(b) for k in range(c)]
    steps = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    pairs = [((i, j, k), (i + x, j + y, k + z)) for i, j, k in vertices for x, y, z in steps]
    return a * b * c, [(at(*p), at(*q)) for p, q in pairs if inside(*q)]


def write(path, n, edges):
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges if a != b})
    degree = [1] * n
    for a, b in pairs:
        degree[a] += 1
        degree[b] += 1
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(pairs) + n}\n")
        file.writelines(f"{i + 1} {i + 1} {degree[i]}\n" for i in range(n))
        file.writelines(f"{b + 1} {a + 1} -1\n" for a, b in pairs)


def run(program, path, ordering):
    command = [program, "solve", path, "--json", "-q", "--threads", threads, "--ordering", ordering]
    of = json.loads(subprocess.run(command, capture_output=True).stdout)
    s = of["analysis"]["seconds"]
    whole = s["order"] + s["symbolic"] + s["plan"] + of["factorize"]["seconds"] + of["solve"]["seconds"]
    return whole * 1e3, of["analysis"]["ordering"]


rng = random.Random(1)
cases = {
    "400 communities of 100, 3000 links": communities(400, 100, 8, 3000, rng),
    "1000 communities of 100, 8000 links": communities(1000, 100, 8, 8000, rng),
    "2000 communities of 60, 4000 links": communities(2000, 60, 6, 4000, rng),
    "300 communities of 100, 1000 links": communities(300, 100, 8, 1000, rng),
    "small world, 50,000, 3 %": small_world(50_000, 3, 0.03, rng),
    "small world, 120,000, 1 %": small_world(120_000, 4, 0.01, rng),
    "300 x 300, 900 links": triangles(300, 900, rng),
    "340 x 340, 300 links": triangles(340, 300, rng),
    "200 x 200, 2000 links": triangles(200, 2000, rng),
    "60,000 points in space, 5 nearest": in_space(60_000, 5, rng),
    "30,000 points in space, 14 nearest": in_space(30_000, 14, rng),
    "40 x 40 x 40": grid((40, 40, 40), False),
    "periodic, 34 x 34 x 34": grid((34, 34, 34), True),
}
with tempfile.TemporaryDirectory() as folder:
    print(f"{threads} threads, medians of {turns}")
    for name, (n, edges) in cases.items():
        path = f"{folder}/a.mtx"
        write(path, n, edges)
        ways = [(old, "auto"), (new, "auto"), (new, "amd"), (new, "amf"), (new, "nd")]
        found = [[] for _ in ways]
        for turn in range(int(turns)):
            by_turns = list(range(len(ways)))[:: 1 if turn % 2 == 0 else -1]
            for k in by_turns:
                found[k].append(run(ways[k][0], path, ways[k][1]))
        names = [runs[0][1] for runs in found]
        times = [[whole for whole, _ in runs] for runs in found]
        (before, after, *others), least = map(statistics.median, times), list(map(min, times))
        ways = zip(("amd", "amf", "nd"), others, least[2:])
        print(f"{name:34} {names[0]} -> {names[1]} {before:.0f} ({least[0]:.0f}) -> {after:.0f} ({least[1]:.0f}), ratio {after / before:.2f} ({least[1] / least[0]:.2f});",
              *(f"{way} {whole:.0f} ({lowest:.0f})" for way, whole, lowest in ways), flush=True)
