"""python3 rivals-1.py OLD NEW METIS SEEDS SOURCE..: dissections by two builds of even-1.rs, by turns, beside METIS_NodeND.

OLD and NEW are programs, METIS the folder of the drivers `drive` and `metis`, FLOPS in the environment the program of rivals-1.rs. One thread. A line for each source: operations over METIS's of
all seeds, before and after, and milliseconds (the least of three turns, a seed each in the mean; METIS of three turns)."""
import math, os, statistics, subprocess, sys, tempfile

old, new, folder, seeds, *sources = sys.argv[1:]
os.environ["RAYON_NUM_THREADS"] = "1"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def metis(source, scratch):
    """Operations by METIS's order, and its milliseconds."""
    matrix, order = os.path.join(scratch, "a.bin"), os.path.join(scratch, "a.i32")
    run(os.path.join(folder, "drive"), "prepare", matrix, source, "1")
    secs = min(float(run(os.path.join(folder, "metis"), matrix, order)[-1]) for _ in range(3))
    return float(run(os.environ["FLOPS"], matrix, order)[0]), secs * 1e3


logs = []
with tempfile.TemporaryDirectory() as scratch:
    for source in sources:
        flops, millis = metis(source, scratch)
        found, took = {}, {old: [], new: []}
        for turn in range(3):
            for program in (old, new) if turn % 2 == 0 else (new, old):
                *operations, ms, _ = run(program, seeds, source)[1:]
                found[program] = [float(x) / flops for x in operations]
                took[program].append(float(ms))
        a, b = (statistics.median(found[p]) for p in (old, new))
        s, t = (min(took[p]) for p in (old, new))
        logs.append([math.log(x) for x in (a, b, found[old][0], found[new][0], t / s, s / millis, t / millis)] + [max(found[old]), max(found[new])])
        name = os.path.basename(source)
        print(name, f"METIS {flops:.4e} {millis:.1f} ms", "before", *(f"{x:.3f}" for x in found[old]), "after",
              *(f"{x:.3f}" for x in found[new]), f"medians {a:.3f} {b:.3f} ms {s:.2f} {t:.2f}", flush=True)
mean = [math.exp(sum(column) / len(logs)) for column in list(zip(*logs))[:7]]
print("geometric means: medians %.3f -> %.3f, seed 0 %.3f -> %.3f, time %.3f, over METIS's %.3f -> %.3f" % tuple(mean))
