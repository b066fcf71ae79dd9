"""Two builds of the command on the host with 2 and 16 threads, every phase by turns, and the new one on the GPU: refined-16.py NAME...

The commands `old` and `tamarack`, columns-on-card.py, classes-on-card.py and its folder of packed patterns lie beside this program. The lines came from one file.
"""
import os, runpy, sys

shared = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "columns-on-card.py"))
classes, run = shared["classes"], shared["run"]

for name in sys.argv[1:]:
    classes["unpack"](name)
    for _ in range(2):
        for command in ("old", "tamarack"):
            for threads in ("2", "16"):
                found = run(command, "bench", "--device", "cpu", "--threads", threads, "--repeat", "5")
                print(name, "threads", threads, command.replace("tamarack", "new"), classes["phases"](found), flush=True)
    accuracy = run("tamarack", "solve", "--device", "gpu")["accuracy"]
    print(name, "gpu new", f"berr {accuracy['normwise_backward_error']:.1e} {accuracy['solved']}", flush=True)
    print(name, "gpu new", classes["phases"](run("tamarack", "bench", "--device", "gpu", "--repeat", "5")), flush=True)
