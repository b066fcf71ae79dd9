"""python3 parts-1.py make FOLDER | run OLD NEW TURNS FOLDER NAME|model:NAME..: grids of squares without corners or with, as matrices; the way to
the solution by two builds of parts-1.rs, by turns, each time in a new process, with one and two threads.

A line for each grid and number of threads: order, to the solution and refactorization in ms, medians over the turns, old and new, and the
median of their ratios in each turn; operations and entries of L."""
import os, statistics as st, subprocess, sys


def make(folder):
    import numpy as np, scipy.sparse as sp

    def masked(mask, closed=(False, False)):
        number = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, -1)
        pairs = []
        for axis in (0, 1):
            other = np.roll(number, -1, axis)
            if not closed[axis]:
                other[(slice(-1, None), slice(None)) if axis == 0 else (slice(None), slice(-1, None))] = -1
            both = (number >= 0) & (other >= 0)
            pairs.append((number[both], other[both]))
        i, j = (np.concatenate(ends) for ends in zip(*pairs))
        n = int(mask.sum())
        a = sp.coo_matrix((-np.ones(len(i)), (i, j)), (n, n))
        return (a + a.T + 5 * sp.eye(n)).tocsc()

    side, random = 1000, np.random.default_rng(1)
    y, x = np.mgrid[0:side, 0:side]
    from_middle = (x - side / 2) ** 2 + (y - side / 2) ** 2
    all_there = lambda *shape: np.ones(shape, bool)
    ell = all_there(side, side)
    ell[side // 2 :, side // 2 :] = False
    holes = all_there(side, side)
    for _ in range(60):
        a, b, r = random.integers(0, side), random.integers(0, side), random.integers(10, 50)
        holes &= (x - a) ** 2 + (y - b) ** 2 > r * r
    disc = masked(from_middle < (side / 2) ** 2)
    anywhere = random.permutation(disc.shape[0])
    found = {
        "disc": disc,
        "disc_anywhere": disc[anywhere][:, anywhere].tocsc(),
        "ring": masked((from_middle < (side / 2) ** 2) & (from_middle > (side / 4) ** 2)),
        "ell": masked(ell),
        "holes": masked(holes),
        "sieve": masked(random.random((side, side)) > 0.05),
        "rectangle": masked(all_there(700, 1500)),
        "strip": masked(all_there(200, 5000)),
        "strip_across": masked(all_there(5000, 200)),
        "cylinder": masked(all_there(side, side), (True, False)),
        "torus": masked(all_there(side, side), (True, True)),
        "cylinder_2000": masked(all_there(2000, 2000), (True, False)),
    }
    for name, a in found.items():
        sp.save_npz(os.path.join(folder, name + ".npz"), a)


def run(old, new, turns, folder, *names):
    for name in names:
        source = name if name.startswith("model:") else os.path.join(folder, name + ".npz")
        for threads in ("1", "2"):
            found = {old: [], new: []}
            for turn in range(int(turns)):
                for program in (old, new) if turn % 2 == 0 else (new, old):
                    found[program].append(subprocess.run([program, threads, source], capture_output=True, text=True).stdout.split())
            line = [name, threads]
            for k in range(3):
                of = {p: [1e3 * float(x[k]) for x in found[p]] for p in found}
                ratio = st.median(b / a for a, b in zip(of[old], of[new]))
                line.append(f"{st.median(of[old]):.0f} {st.median(of[new]):.0f} ({ratio:.2f})")
            for k in (3, 4, 5):
                line.append(f"{found[old][0][k]} {found[new][0][k]}")
            print(*line, sep=" | ", flush=True)


{"make": make, "run": run}[sys.argv[1]](*sys.argv[2:])
