"""Nested dissection of networks: `networks-3.py OLD NEW METIS` writes the matrices to a temporary folder and orders each with both programs
(one thread, five turns), and with METIS's driver (benches/peers/cpu); operations of the factor over those by METIS, medians of ms."""

import array, json, random, statistics, subprocess, sys, tempfile

old, new, metis = sys.argv[1:4]
r = random.Random(5)


def random_graph(n, links):
    return n, [(r.randrange(n), r.randrange(n)) for _ in range(links)]


def path_with_chords(n):
    return n, [(i, i - 1) for i in range(1, n)] + [(r.randrange(n), i) for i in range(n // 2)]


def small_world(n):
    there = lambda i, d: r.randrange(n) if r.random() < 0.05 else (i + d) % n
    return n, [(i, there(i, d)) for i in range(n) for d in (1, 2)]


def skewed(n):
    ends, edges = [0, 1], [(1, 0)]
    for v in range(2, n):
        for _ in range(2):
            u = r.choice(ends)
            edges.append((v, u))
            ends += [u, v]
    return n, edges


def roads(m, most):
    n, edges = m * m, []
    crossings = [(i * m + j, i * m + j + m) for i in range(m - 1) for j in range(m)]
    crossings += [(i * m + j, i * m + j + 1) for i in range(m) for j in range(m - 1)]
    for a, b in crossings:
        if r.random() < 0.8:
            last = a
            for _ in range(r.randrange(most + 1)):
                edges.append((n, last))
                last, n = n, n + 1
            edges.append((b, last))
    return n, edges


def leaves(m):
    n, edges = roads(m, 0)
    for v in range(m * m):
        for _ in range(r.randrange(4)):
            edges.append((n, v))
            n += 1
    return n, edges


def two_with_bridges(n, bridges):
    h = n // 2
    edges = [(k * h + r.randrange(h), k * h + r.randrange(h)) for k in (0, 1) for _ in range(n)]
    return n, edges + [(r.randrange(h), h + r.randrange(h)) for _ in range(bridges)]


def write(folder, n, edges):
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges if a != b} | {(i, i) for i in range(n)})
    with open(folder + "/a.mtx", "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(pairs)}\n")
        file.writelines(f"{b + 1} {a + 1} {1e6 if a == b else -1}\n" for a, b in pairs)
    ptr = [0] * (n + 1)
    for a, _ in pairs:
        ptr[a + 1] += 1
    for k in range(n):
        ptr[k + 1] += ptr[k]
    with open(folder + "/a.bin", "wb") as file:
        array.array("q", [n, len(pairs)]).tofile(file)
        array.array("q", ptr).tofile(file)
        array.array("i", [b for _, b in pairs]).tofile(file)
        array.array("d", [1e6 if a == b else -1 for a, b in pairs]).tofile(file)


def analyzed(program, path, ordering):
    out = subprocess.run([program, "analyze", path, f"--compare={ordering}", "--json", "-q", "--threads", "1"], capture_output=True)
    found = json.loads(out.stdout)["analyses"][0]
    return found["flops"], found["seconds"]["order"] * 1e3


def by_metis(folder):
    out = subprocess.run([metis, folder + "/a.bin", folder + "/a.i32"], capture_output=True, text=True)
    order = array.array("i")
    with open(folder + "/a.i32", "rb") as file:
        order.frombytes(file.read())
    with open(folder + "/order.txt", "w") as file:
        file.writelines(f"{v}\n" for v in order)
    out_of = subprocess.run([new, "analyze", folder + "/a.mtx", "--ordering", folder + "/order.txt", "--json", "-q"], capture_output=True)
    return json.loads(out_of.stdout)["analysis"]["flops"], float(out.stdout) * 1e3


with tempfile.TemporaryDirectory() as folder:
    cases = {
        "random, 40,000 unknowns, 120,000 links": random_graph(40000, 120000),
        "random, 50,000 and 100,000": random_graph(50000, 100000),
        "random, 100,000 and 115,000": random_graph(100000, 115000),
        "path of 100,000 with 50,000 chords": path_with_chords(100000),
        "small world of 100,000": small_world(100000),
        "skewed, 50,000": skewed(50000),
        "two random ones with 50 bridges": two_with_bridges(40000, 50),
        "roads, 22,500 crossings": roads(150, 6),
        "long roads, 10,000 crossings": roads(100, 40),
        "grid of 40,000 with leaves": leaves(200),
    }
    print("operations over those by METIS: nd before, nd, amd, amf; ms: METIS, nd before, nd, amd, amf")
    for name, (n, edges) in cases.items():
        write(folder, n, edges)
        runs = [(old, "nd"), (new, "nd"), (new, "amd"), (new, "amf")]
        turns = [[analyzed(program, folder + "/a.mtx", order) for program, order in runs] for _ in range(5)]
        others = [by_metis(folder) for _ in range(3)]
        flops, ms = others[0][0], statistics.median(t for _, t in others)
        ratios = " ".join(f"{f / flops:.2f}" for f, _ in turns[0])
        times = " ".join(f"{statistics.median(turn[k][1] for turn in turns):.0f}" for k in range(4))
        print(f"{name}: {ratios}; {ms:.0f} {times}", flush=True)
