"""Classes of matrices on a GPU and on its host, where neither files nor SciPy need be.

classes-on-card.py pack FILE.npz...     patterns of SciPy matrices, a few MB together, in the folder classes beside this program
classes-on-card.py run NAME...          solve on the GPU; three times every phase on the GPU and on the host
classes-on-card.py orders NAME...       five times every phase on the host with 16 threads, by several orderings

Values are made anew from rows and columns, diagonally dominant. The command tamarack lies beside this program.
"""
import json, lzma, os, subprocess, sys
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
command, folder, matrix = f"{here}/tamarack", f"{here}/classes", "/tmp/x.npz"


def pack(path):
    import scipy.sparse as sp

    a = sp.tril(sp.load_npz(path)).tocsc()
    a.sort_indices()
    counts = np.diff(a.indptr).astype(np.int32)
    steps = np.diff(a.indices.astype(np.int64), prepend=0).astype(np.int32)
    steps = steps.view(np.uint8).reshape(-1, 4).T.tobytes()
    name = os.path.basename(path).removesuffix(".npz")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}.xz", "wb") as out:
        out.write(lzma.compress(np.int64(a.shape[0]).tobytes() + counts.tobytes() + steps, preset=1))


def unpack(name):
    raw = lzma.decompress(open(f"{folder}/{name}.xz", "rb").read())
    n = int(np.frombuffer(raw[:8], np.int64)[0])
    counts = np.frombuffer(raw[8 : 8 + 4 * n], np.int32)
    steps = np.frombuffer(raw[8 + 4 * n :], np.uint8).reshape(4, -1)
    i = np.cumsum(np.ascontiguousarray(steps.T).view(np.int32).ravel().astype(np.int64))
    j = np.repeat(np.arange(n), counts)
    a, b = i[i != j], j[i != j]
    v = -(0.5 + ((a * 2654435761 + b * 40503) % 1000) / 1000.0)
    s = np.bincount(a, -v, n) + np.bincount(b, -v, n)
    rows, columns = np.concatenate([a, b, np.arange(n)]), np.concatenate([b, a, np.arange(n)])
    values = np.concatenate([v, v, s + 0.01 * np.maximum(s, 1)])
    order = np.argsort(columns * n + rows, kind="stable")
    ptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(columns, minlength=n), out=ptr[1:])
    arrays = dict(indices=rows[order].astype(np.int32), indptr=ptr, data=values[order])
    np.savez(matrix, format=np.array(b"csc"), shape=np.array([n, n]), **arrays)


def run(*arguments):
    done = subprocess.run([command, *arguments, "--json", "-q", matrix], capture_output=True, text=True, timeout=150)
    return json.loads(done.stdout)


def phases(found):
    return " ".join(f"{name[:9]} {1e3 * phase['median']:.1f}" for name, phase in found["phases"].items())


def on_both(name):
    found = run("solve", "--device", "gpu")
    accuracy, analysis = found["accuracy"], found["analysis"]
    line = f"{name:20s} berr {accuracy['normwise_backward_error']:.1e} solved {accuracy['solved']} "
    line += f"steps {found['solve']['refinement_steps']} ord {analysis['ordering']} {analysis['flops'] / 1e9:.2f}G"
    for device in ("gpu", "cpu"):
        line += f" | {device} " + phases(run("bench", "--device", device, "--repeat", "3"))
    print(line, flush=True)


def by_orders(name):
    for ordering in ("auto", "amd", "amf", "nd"):
        found = run("bench", "--ordering", ordering, "--threads", "16", "--repeat", "5")
        print(f"{name:20s} {ordering:5s} {found['analysis']['flops'] / 1e9:.3f}G {phases(found)}", flush=True)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        if sys.argv[1] == "pack":
            pack(name)
        else:
            unpack(name)
            {"run": on_both, "orders": by_orders}[sys.argv[1]](name)
