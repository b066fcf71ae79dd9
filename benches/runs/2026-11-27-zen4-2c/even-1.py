"""python3 even-1.py make FOLDER | run OLD NEW SEEDS SOURCE..: shapes as patterns; dissections by two builds of even-1.rs, by turns."""
import math, os, statistics, subprocess, sys

STAR = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
FLAT = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (1, -1, 0)]
CUBE = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) > (0, 0, 0)]


def grid(axes, steps, closed=(0, 0, 0), inside=lambda *p: True):
    """Links of a grid; axes that are closed have no ends."""
    at, links = {}, set()
    place = lambda p: at.setdefault(p, len(at))
    points = [(i, j, k) for i in range(axes[0]) for j in range(axes[1]) for k in range(axes[2]) if inside(i, j, k)]
    for p in points:
        place(p)
    for p in points:
        for step in steps:
            q = tuple((x + d) % m if c else x + d for x, d, m, c in zip(p, step, axes, closed))
            if q in at and q != p:
                links.add((max(at[p], at[q]), min(at[p], at[q])))
    return len(at), links


def disc(m, inner=0):
    return lambda i, j, k: (inner * m) ** 2 <= (2 * i - m) ** 2 + (2 * j - m) ** 2 < m * m


def blocks(n, links, size):
    """So many unknowns for each, all of neighbors coupled."""
    pairs = {(a * size + i, b * size + j) for a, b in links for i in range(size) for j in range(size)}
    pairs |= {(v * size + i, v * size + j) for v in range(n) for i in range(size) for j in range(i)}
    return n * size, pairs


SHAPES = {
    "cube-12": lambda: grid((12, 12, 12), STAR),
    "cube-14": lambda: grid((14, 14, 14), STAR),
    "cube-15": lambda: grid((15, 15, 15), STAR),
    "cube-14-dg10": lambda: blocks(*grid((14, 14, 14), STAR), 10),
    "ball-34": lambda: grid((34, 34, 34), STAR, inside=lambda *p: sum((2 * x - 33) ** 2 for x in p) < 34 ** 2),
    "hollow-34": lambda: grid((34, 34, 34), STAR, inside=lambda *p: any(x < 4 or x >= 30 for x in p)),
    "rod": lambda: grid((10, 10, 100), STAR),
    "ring-of-rod": lambda: grid((10, 10, 200), STAR, (0, 0, 1)),
    "slab": lambda: grid((60, 60, 8), STAR),
    "slab-27": lambda: grid((50, 50, 6), CUBE),
    "closed-30": lambda: grid((30, 30, 30), STAR, (1, 1, 1)),
    "closed-1-30": lambda: grid((30, 30, 30), STAR, (1, 0, 0)),
    "closed-27-16": lambda: grid((16, 16, 16), CUBE, (1, 1, 1)),
    "closed-27-20": lambda: grid((20, 20, 20), CUBE, (1, 1, 1)),
    "closed-27-24": lambda: grid((24, 24, 24), CUBE, (1, 1, 1)),
    "closed-27-32": lambda: grid((32, 32, 32), CUBE, (1, 1, 1)),
    "closed-2-27-24": lambda: grid((24, 24, 24), CUBE, (1, 1, 0)),
    "square-50": lambda: grid((50, 50, 1), STAR),
    "torus-100": lambda: grid((100, 100, 1), STAR, (1, 1, 0)),
    "torus-300": lambda: grid((300, 300, 1), STAR, (1, 1, 0)),
    "torus-100-300": lambda: grid((100, 300, 1), STAR, (1, 1, 0)),
    "cylinder-400-60": lambda: grid((400, 60, 1), STAR, (1, 0, 0)),
    "cylinder-120-200": lambda: grid((120, 200, 1), STAR, (1, 0, 0)),
    "cylinder-9": lambda: grid((150, 150, 1), FLAT, (1, 0, 0)),
    "torus-9": lambda: grid((120, 120, 1), FLAT, (1, 1, 0)),
    "ell": lambda: grid((200, 200, 1), STAR, inside=lambda i, j, k: i < 100 or j < 100),
    "disc": lambda: grid((200, 200, 1), STAR, inside=disc(200)),
    "ring": lambda: grid((200, 200, 1), STAR, inside=disc(200, 0.6)),
    "holes": lambda: grid((220, 220, 1), STAR, inside=lambda i, j, k: (i % 44 - 22) ** 2 + (j % 44 - 22) ** 2 > 225),
    "cross": lambda: grid((240, 240, 1), STAR, inside=lambda i, j, k: abs(i - 120) < 20 or abs(j - 120) < 20),
}


def make(folder):
    for name, shape in SHAPES.items():
        n, links = shape()
        degree = [1] * n
        for a, b in links:
            degree[a] += 1
            degree[b] += 1
        with open(os.path.join(folder, name + ".mtx"), "w") as f:
            print(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {n + len(links)}", file=f)
            f.writelines(f"{i + 1} {i + 1} {d}\n" for i, d in enumerate(degree))
            f.writelines(f"{a + 1} {b + 1} -1\n" for a, b in sorted(links))


def run(old, new, seeds, sources):
    ratios = []
    for source in sources:
        lines = [subprocess.run([b, seeds, source], capture_output=True, text=True, check=True).stdout.split() for b in (old, new)]
        for which, line in zip(("before", "after"), lines):
            print(which, *line, flush=True)
        (a, b), (s, t) = ([[float(x) for x in line[1:-2]] for line in lines], [float(line[-2]) for line in lines])
        ratio = statistics.median(b) / statistics.median(a), b[0] / a[0], max(b) / max(a), t / s
        ratios.append(ratio)
        print("ratio of medians %.3f, of seed 0 %.3f, of the worst %.3f, of times %.3f" % ratio, flush=True)
    print("geometric means", *("%.3f" % math.exp(sum(map(math.log, r)) / len(r)) for r in zip(*ratios)))


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    run(*sys.argv[2:5], sys.argv[5:])
