"""Bundle adjustments before and after, by turns, each turn a process of its own: adjust-1.py BEFORE AFTER MATRIX...
BEFORE and AFTER are `adjust-1.rs` with two builds of the library; the matrices are those that `tamarack generate` writes."""
import subprocess, sys
before, after, *matrices = sys.argv[1:]
for matrix in matrices:
    for turn in range(3):
        for name, program in (("before", before), ("after", after)):
            run = subprocess.run([program, matrix], capture_output=True, text=True)
            for line in run.stdout.splitlines():
                print(turn, name, line.replace(matrix, matrix.split("/")[-1]), flush=True)
