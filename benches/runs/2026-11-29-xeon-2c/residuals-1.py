"""Solves of two builds of the command, by turns: residuals-1.py OLD NEW ROUNDS THREADS,... MATRIX... prints medians in ms of the medians of `bench --repeat 5`: a solve, and the first one
that is refined. `arrow` is written here: 60 parameters that each of 200,000 unknowns depends on."""
import json, os, statistics, subprocess, sys, tempfile


def write_arrow(name, n=200_000, width=60):
    import numpy as np

    parameters = np.arange(n, n + width)
    columns = np.column_stack([np.arange(n), np.tile(parameters, (n, 1))]).ravel()
    rows = np.tile(np.arange(n + width), (width, 1)).ravel()
    values = np.where(columns.reshape(n, -1) == np.arange(n)[:, None], width + 1.0, -1.0).ravel()
    last = np.full((width, n + width), -1.0)
    last[np.arange(width), parameters] = n + width
    ends = np.concatenate([[0], np.arange(1, n + 1) * (width + 1), n * (width + 1) + np.arange(1, width + 1) * (n + width)])
    np.savez(name, indices=np.concatenate([columns, rows]).astype(np.int32), indptr=ends.astype(np.int32), data=np.concatenate([values, last.ravel()]),
             format=np.array(b"csc"), shape=np.array([n + width, n + width]))


def run(command, matrix, threads):
    args = [command, "bench", "--json", "-q", "--threads", threads, "--rhs", "1", "--repeat", "5", matrix]
    phases = json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)["phases"]
    return [1e3 * phases[phase]["median"] for phase in ("solve_1", "solve_refined")]


old, new, rounds, threads, *matrices = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    for matrix in matrices:
        name = os.path.basename(matrix)
        if matrix == "arrow":
            matrix = os.path.join(folder, "arrow.npz")
            write_arrow(matrix)
        for count in threads.split(","):
            found = {command: [] for command in (old, new)}
            for _ in range(int(rounds)):
                for command, all in found.items():
                    all.append(run(command, matrix, count))
            lines = [[statistics.median(times) for times in zip(*all)] for all in found.values()]
            texts = [f"solve {one:8.2f} refined {refined:8.2f}" for one, refined in lines]
            print(f"{name:24} threads {count:>2} | old {texts[0]} | new {texts[1]} | {lines[1][1] / lines[0][1]:.2f}", flush=True)
