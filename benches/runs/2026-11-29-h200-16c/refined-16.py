"""Two builds of the command on the host with 2 and 16 threads, every phase by turns, and the new one on the GPU: refined-16.py NAME...

The commands `old` and `tamarack`, classes-on-card.py and its folder of packed patterns lie beside this program.
"""
import json, os, runpy, subprocess, sys

here = os.path.dirname(os.path.abspath(__file__))
classes = runpy.run_path(f"{here}/classes-on-card.py")


def run(command, *arguments):
    done = subprocess.run([f"{here}/{command}", *arguments, "--json", "-q", classes["matrix"]], capture_output=True, text=True, timeout=150)
    return json.loads(done.stdout)


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
