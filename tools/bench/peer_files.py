"""`files` of peers.py: models of the user beside ONNX Runtime and eager PyTorch."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))

# Folders with the inputs of a model, beside it: those of ONNX's suites and of exported programs.
DATA = ["test_data_set_0", "case_0"]


def find(paths):
    """(name, file) of each model: files as they are, and those named model.* in folders."""
    for path in paths:
        if os.path.isfile(path):
            yield os.path.splitext(os.path.basename(path))[0], path
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            for file in sorted(files):
                if file in ("model.onnx", "model.pt2"):
                    yield os.path.basename(folder), os.path.join(folder, file)


class FileCase:
    """A model and the processes that time it."""

    def __init__(self, args, name, path):
        self.args = args
        self.name = name
        self.path = path
        folder = os.path.dirname(os.path.abspath(path))
        data = [d for d in (os.path.join(folder, name) for name in DATA) if os.path.isdir(d)]
        self.data = ["--data=" + data[0]] if data else []

    def runners(self, threads):
        """(label, command, environment) of Weft and of the one peer that reads such files."""
        args = self.args
        env = dict(os.environ)
        if threads:
            env.update(OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        timing = ["--threads=%d" % threads, "--seconds=%g" % args.seconds,
                  "--warmup=%g" % args.warmup]
        weft = [os.path.join(args.bin, "bench", "main"), "--target=" + args.target, "--nopeaks",
                "--format=json"]
        if args.cache_dir:
            weft.append("--cache-dir=" + args.cache_dir)
        yield "Weft", weft + timing + self.data + [self.path], env
        if self.path.endswith(".pt2"):
            peer = [args.torch_python, HERE + "/peer_torch.py", self.path, "--mode=eager"]
            label = "torch eager"
        else:
            peer = [args.ort_python, HERE + "/peer_ort.py", self.path]
            label = "ONNX Runtime"
        if peer[0]:
            yield label, peer + timing + self.data, env


def slower(rows, limit):
    """Lines on the models above `limit`, and on those that either does not run."""
    ratios, refused = [], []
    for name, threads, runs in rows:
        peers = [r["median_ms"] for label, r in runs.items() if label != "Weft"]
        if peers and "Weft" in runs:
            ratios.append((runs["Weft"]["median_ms"] / min(peers), name, threads))
        else:
            refused.append(f"{name} ({'the peer' if 'Weft' in runs else 'Weft'})")
    above = sorted((r for r in ratios if r[0] > limit), reverse=True)
    lines = [f"{len(ratios)} pairs, {len(above)} above {limit:g}"]
    lines += [f"* {name}, {threads} threads: {ratio:.2f}" for ratio, name, threads in above]
    if refused:
        lines.append("Not run by: " + ", ".join(sorted(set(refused))))
    return above, "\n".join(lines) + "\n"
