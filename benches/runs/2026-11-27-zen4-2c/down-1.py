"""python3 down-1.py OLD NEW FOLDER TURNS THREADS COUNT NAME..: solves by two builds of down-1.rs, by turns, COUNT in each.

FOLDER has NAME.bin, as `drive prepare` writes it, and NAME.i32, METIS's order. A line for each name: in how many bits solutions differ,
then the least time of a process, its lower quartile and its median in ms, each as a median over the turns, before and after; the least of
all; and the median of the ratios of the medians of each turn."""
import os, statistics as st, subprocess, sys

old, new, folder, turns, threads, count, *names = sys.argv[1:]
for name in names:
    files = [os.path.join(folder, name + end) for end in (".bin", ".i32")]
    found = {old: [], new: []}
    for turn in range(int(turns)):
        for program in (old, new) if turn % 2 == 0 else (new, old):
            out = subprocess.run([program, files[0], threads, count, files[1]], capture_output=True, text=True).stdout.split()
            found[program].append([float(x) for x in out[:3]] + [out[3]])
    bits = len({x[3] for all in found.values() for x in all})
    medians = [[st.median(x[i] for x in found[p]) for p in (old, new)] for i in range(3)]
    least = [f"{min(x[0] for x in found[p]):.2f}" for p in (old, new)]
    paired = st.median(b[2] / a[2] for a, b in zip(found[old], found[new]))
    print(name, threads, "bits", bits, *(f"{a:.2f} {b:.2f} ({b / a:.3f})" for a, b in medians), "min", *least, f"paired med {paired:.3f}", flush=True)
