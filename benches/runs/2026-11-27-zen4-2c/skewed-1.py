"""Orders of networks with skewed degrees, and of points that share cameras: `skewed-1.py OLD NEW` writes the matrices to a temporary folder and
solves each with both programs, two threads, five turns; medians in ms."""

import json, random, statistics, subprocess, sys, tempfile


def write(path, n, edges):
    pairs = {(max(a, b), min(a, b)) for a, b in edges if a != b}
    degree = [0] * n
    for a, b in pairs:
        degree[a] += 1
        degree[b] += 1
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n")
        file.write(f"{n} {n} {n + len(pairs)}\n")
        file.writelines(f"{i + 1} {i + 1} {degree[i] + 1}\n" for i in range(n))
        file.writelines(f"{a + 1} {b + 1} -1\n" for a, b in sorted(pairs))


r = random.Random(5)
with tempfile.TemporaryDirectory() as folder:
    cases = {f"skewed, {n}": (n, [(i, int(i * r.random() ** 3)) for i in range(1, n) for _ in range(2)]) for n in (20000, 40000, 100000)}
    cases["30000 points, 250 cameras"] = (30250, [(30000 + r.randrange(250), i) for i in range(30000) for _ in range(6)])
    for name, (n, edges) in cases.items():
        path = folder + "/a.mtx"
        write(path, n, edges)
        found = {program: [] for program in sys.argv[1:3]}
        for turn in range(5):
            for program in found:
                out = subprocess.run([program, "solve", path, "--json", "-q", "--threads", "2"], capture_output=True).stdout
                of = json.loads(out)
                s = of["analysis"]["seconds"]
                order = s["order"] * 1e3
                found[program].append((order, order + (s["symbolic"] + s["plan"] + of["factorize"]["seconds"] + of["solve"]["seconds"]) * 1e3, of["analysis"]["ordering"]))
        texts = [f"{v[0][2]} order {statistics.median(x[0] for x in v):.0f} all {statistics.median(x[1] for x in v):.0f}" for v in found.values()]
        print(name + ": " + " -> ".join(texts), flush=True)
