"""Refactorizations in mixed precision on a card, and what comes after them: `uploads-1.py OLD NEW` runs `bench` of both programs by turns, 15 repetitions in each of five
processes; medians and (least) in ms."""

import json, subprocess, sys

old, new = sys.argv[1:3]
print("medians (and least) of 15 in each of 5 processes by turns, mixed precision, ms")
for model in ("p2d5_1000", "p3d7_60", "el3d_30"):
    for turn in range(5):
        programs = [("before", old), ("after", new)]
        for name, program in programs[:: 1 if turn % 2 == 0 else -1]:
            command = [program, "bench", "model:" + model, "--device", "gpu", "--precision", "mixed", "--repeat", "15", "--json", "-q"]
            phases = json.loads(subprocess.run(command, capture_output=True).stdout)["phases"]
            on_card = (phase for phase in phases if phase not in ("order", "symbolic", "plan"))
            print(model, name, *(f"{p} {phases[p]['median'] * 1e3:.3f} ({phases[p]['min'] * 1e3:.3f})" for p in on_card), flush=True)
