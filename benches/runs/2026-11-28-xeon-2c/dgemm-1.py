"""Refactorizations and MKL's DGEMM by turns: dgemm-1.py DRIVE DGEMM ROUNDS FOLDER MATRIX... (FOLDER has MATRIX.bin and METIS's order MATRIX.i32)."""
import json
import statistics
import subprocess
import sys

drive, dgemm, rounds, folder, *matrices = sys.argv[1:]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


for matrix in matrices:
    for threads in "12":
        ratios = []
        for _ in range(int(rounds)):
            before = float(run(dgemm, threads))
            record = json.loads(run(drive, "tamarack", f"{folder}/{matrix}.bin", matrix, threads, f"{folder}/{matrix}.i32"))
            after = float(run(dgemm, threads))
            rate = record["gflop"] / statistics.median(record["refactor_secs"])
            best = record["gflop"] / min(record["refactor_secs"])
            peak = max(before, after)
            ratios.append(rate / peak)
            print(f"{matrix} x{threads}: median {rate:.1f}, best {best:.1f} GFLOP/s; DGEMM {before:.1f} before and {after:.1f} after; "
                  f"{rate / peak:.3f}, best {best / peak:.3f}", flush=True)
        print(f"{matrix} x{threads}: {statistics.median(ratios):.3f} in the median", flush=True)
