"""Two builds of the command on a GPU: columns-on-card.py ROUNDS NAME...

Solves with each in three precisions, then every phase by turns, and on the host. The commands `old` and `tamarack`, classes-on-card.py and its
folder of packed patterns lie beside this program.
"""
import os, runpy, subprocess, json, sys

here = os.path.dirname(os.path.abspath(__file__))
classes = runpy.run_path(f"{here}/classes-on-card.py")


def run(command, *arguments):
    done = subprocess.run([f"{here}/{command}", *arguments, "--json", "-q", classes["matrix"]], capture_output=True, text=True, timeout=150)
    return json.loads(done.stdout)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        classes["unpack"](name)
        for precision in ("f64", "f32", "mixed"):
            for command in ("old", "tamarack"):
                found = run(command, "solve", "--device", "gpu", "--precision", precision)
                error, solved = found["accuracy"]["normwise_backward_error"], found["accuracy"]["solved"]
                flops, first = found["analysis"]["flops"] / 1e9, 1e3 * found["factorize"]["seconds"]
                text = f"berr {error:.1e} {solved} {found['analysis']['ordering']} {flops:.2f}G first {first:.1f} ms"
                print(name, precision, command.replace("tamarack", "new"), text, flush=True)
        for _ in range(int(sys.argv[1])):
            for command in ("old", "tamarack"):
                found = run(command, "bench", "--device", "gpu", "--repeat", "5")
                print(name, command.replace("tamarack", "new"), classes["phases"](found), flush=True)
        print(name, "cpu", classes["phases"](run("tamarack", "bench", "--device", "cpu", "--repeat", "3")), flush=True)
