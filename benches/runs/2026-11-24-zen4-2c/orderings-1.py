"""Patterns for orderings-1.md: python3 orderings-1.py KIND > FILE.mtx"""
import random, sys

r = random.Random(13)


def ring(n, near, share):
    """A ring, each joined to the next `near`; so large a share of the links goes anywhere."""
    links = ((i, r.randrange(n) if r.random() < share else (i + d) % n)
             for i in range(n) for d in range(1, near + 1))
    return n, {(max(i, j), min(i, j)) for i, j in links if i != j}


def arms(count, length, width):
    """A vertex at which arms begin, bands of a half-width."""
    n = 1 + count * length
    return n, {(1 + a * length + i, 1 + a * length + j if j >= 0 else 0)
               for a in range(count) for i in range(length) for j in range(i - width, i) if j >= 0 or i == 0}


def points(count, cameras, seen, span):
    """Points, each seen by some of the cameras near its place."""
    first = lambda p: max(0, min(p * cameras // count - span // 2, cameras - span))
    return cameras + count, {(cameras + p, first(p) + c)
                             for p in range(count) for c in r.sample(range(span), seen)}


def hubs(n, count, each):
    """Leaves, each joined to some hubs."""
    return n, {(i, h) for i in range(count, n) for h in r.sample(range(count), each)}


def shuffled_band(n, width):
    place = list(range(n))
    r.shuffle(place)
    pairs = ((place[i], place[j]) for i in range(n) for j in range(max(0, i - width), i))
    return n, {(max(p), min(p)) for p in pairs}


kinds = {
    "ring": lambda: ring(100_000, 3, 0.01),
    "ring-2": lambda: ring(200_000, 3, 0.02),
    "arms": lambda: arms(60, 700, 60),
    "points": lambda: points(100_000, 250, 5, 40),
    "hubs": lambda: hubs(200_000, 1400, 5),
    "band": lambda: shuffled_band(10_000, 600),
}
n, entries = kinds[sys.argv[1]]()
print("%%MatrixMarket matrix coordinate real symmetric")
print(n, n, n + len(entries))
for i in range(n):
    print(i + 1, i + 1, 1)
for i, j in sorted(entries):
    print(i + 1, j + 1, 0)
