#!/usr/bin/env python3
"""Fuzzes the command lines of the tools, and their files, together.

    tests/fuzz/command_lines.py --tools=bazel-bin/tools [--seconds=60] [--seed=0]
    tests/fuzz/command_lines.py --tools=bazel-bin/tools --seed=0 --only=1234

Each run takes a tool, some of the flags that its --help lists, values that are right,
nearly right or absurd, and files that are whole or mutated. It must end by itself, in
time, with status 0, 1 or 2, and write nothing to standard error that a terminal would
obey. What does not is printed with its command line and its number, which --only runs
again, and its folder is kept. Exit status 1 when there was one.

A run may write below its own folder only: values of flags that name programs, and
commands for the shell, are never mutated.
"""

import argparse
import os
import random
import re
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TOOLS = ["opt", "run", "reduce", "diff", "trace", "make_model", "bench/main",
         "conformance/main"]
COMMANDS = {"trace": ["summary", "top", "diff", "convert", "validate"]}

# What a run costs is bounded: sizes are small, or so large that they are refused.
NUMBERS = ["0", "1", "2", "3", "7", "-1", "-0", "+1", "1025", "2147483648", "4294967297",
           "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1" * 40, "0x10",
           "1e3", "1e999", "1.5", "nan", "-nan", "inf", "", " 1", "1 ", "1,2", "\u0661"]
WORDS = ["", "-", "--", "=", "x=", "=x", "a=b=c", "none", "all", "stats", "text", "json", "true",
         "default", "cpu", "reference", "cse", "cse,dce", "fixpoint(cse", "fixpoint{max=0}(cse)",
         "if(nodes<9,dce)", "((((", "%s%n", "\x1b[31m", "a\nb", "\u202e", "x" * 5000, "semantics",
         "%0", "@main:%1", "automatic", "before", "name", "core-aten", "html", "plan,guards",
         "[", "(((((.*)*)*)*)*)*x", "a{1000}", "\\", ".*"]
DIMS = ["batch=2", "batch", "batch=", "=2", "length=3,5", "batch=0", "batch=-1",
        "batch=4611686018427387904", "batch=2,length=3", "nosuch=3", "batch=2="]
PATHS = ["", ".", "none/x.weft", "/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/99",
         "folder", "loop", "link.weft", "empty", "out", "out.weft", "out.onnx", "out.npy",
         "out.json.gz", "x" * 300, "o'neil.weft", "new\nline.weft", "-dash"]
# A shell runs these.
PREDICATES = ["wrong-numbers", "crash", "verifier-error", "message=sin", "message=(", "message=",
              "command=grep -q sin {}", "command=true # {}", "command=false", "command=", "nosuch"]

MODEL = """func @main(%x: f32[batch, length], %n: i64[2]) -> (%y: f32[batch, length], %z: i64[2])
    where 1 <= batch, 1 <= length <= 16 {
  %0 = sin(%x) loc("a")
  %1 = sin(%x) loc("b")
  %2 = add(%0, %1)
  %3 = add(%n, %n)
  return %2, %3
}
"""
STATIC = """func @main(%x: f32[2, 3]) -> (%"a/b": f32[2, 3], %a_b: f32[3, 2]) {
  %0 = permute(%x, dims=[1, 0]) loc("n\\x1b[31m")
  %1 = permute(%0, dims=[1, 0])
  return %1, %0
}
"""
REPLAY = ("// weft replay\n// passes: cse,dce\n// verify: structure\n// seed: 3\n"
          "// admitted: value-safe\n" + STATIC)
RULES = 'rule relu-relu bit-exact "relu(relu(x)) = relu(x)" {\n  relu(relu(x)) => relu(x)\n}\n'
TRACE = ('[{"ph": "X", "name": "k\\u001b[31m", "ts": 1, "dur": 5, "pid": 1, "tid": 1},\n'
         ' {"ph": "X", "name": "l", "ts": 2, "dur": 1, "pid": 1, "tid": 1, "args": {}}]\n')


def npy(descr, shape, data):
    head = str({"descr": descr, "fortran_order": False, "shape": shape})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def seeds(folder):
    """Whole files by name: those above, and the small ones of `folder`."""
    x = npy("<f4", (2, 3), struct.pack("<6f", *range(6)))
    files = {"model.weft": MODEL.encode(), "static.weft": STATIC.encode(),
             "replay.weft": REPLAY.encode(), "my.rules": RULES.encode(),
             "trace.json": TRACE.encode(), "x.npy": x,
             "n.npy": npy("<i8", (2,), struct.pack("<2q", 2**60, -1)),
             "data/in_0.npy": x, "data/out_0.npy": x, "empty": b""}
    for root, _, names in sorted(os.walk(folder or "")):
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.endswith((".weft", ".onnx", ".pt2", ".json", ".pftrace")) and \
                    os.path.getsize(path) < 100000:
                with open(path, "rb") as file:
                    files[os.path.basename(root) + "_" + name] = file.read()
    return files


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at:at] = rng.choice(NUMBERS + WORDS[:40]).encode()
        elif kind == 2:
            del data[at:at + rng.randrange(1, 20)]
        elif kind == 3:
            end = min(len(data), at + rng.randrange(1, 50))
            data[at:at] = data[at:end] * rng.choice([1, 2, 50])
        elif at < len(data):
            data[at] = rng.choice([0, 10, 27, 0x7f, 0x9b, 0xff, rng.randrange(256)])
    return bytes(data)


def flags_of(path):
    """(name, whether it takes a value) of each flag in the help."""
    text = subprocess.run([path, "--help"], stdout=subprocess.PIPE, check=True,
                          timeout=60).stdout.decode()
    return [(m.group(1), m.group(2) is not None)
            for m in re.finditer(r"^  (--?[\w-]+)(\[?[= ]\S+)?", text, re.MULTILINE)]


def value_of(rng, flag, files):
    """A value that fits the flag, more often than not."""
    name = flag.lstrip("-")
    some_file = rng.choice(sorted(files))
    if name == "predicate":
        return rng.choice(PREDICATES)
    if name in ("load", "cache-dir"):  # Programs are opened: these are none.
        return rng.choice(["empty", "model.weft", "none", "folder"])
    if name in ("seconds", "warmup"):
        return rng.choice(["0", "0.01", "nan", "-1", "x", ""])
    if name in ("iterations", "repeat", "max-tests", "timeout"):
        return rng.choice(["1", "2", "0", "-1", "x", ""])
    if name == "threads":
        return rng.choice(["1", "2", "0", "1025", "-1", "99999999999", "x"])
    fitting = {"dim": DIMS, "size": DIMS, "input-size": DIMS,
               "input": ["x=x.npy", "n=n.npy", "y=x.npy", "x", "=", "x=" + some_file],
               "expect": ["y=x.npy", "z=n.npy", "a/b=x.npy", "q=x.npy", "y=" + some_file],
               "data": ["data", "folder", "none", some_file],
               "target": ["reference", "cpu"], "passes": ["default", "none", "cpu", "cse,dce"],
               "model": ["mlp", "resnet50"], "out": PATHS, "o": PATHS, "output-dir": PATHS,
               "replay": ["replay.weft", some_file], "rules": ["my.rules", some_file],
               "trace": ["trace.json", some_file], "profile": PATHS}.get(name)
    if fitting and rng.random() < 0.8:
        return rng.choice(fitting)
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.8:
        return rng.choice(WORDS)
    letters = "ab=,:(){}[]*+.\\'\"% \t\n\x1b\u00e9"
    return "".join(rng.choice(letters) for _ in range(rng.randrange(12)))


def command_line(rng, tool, flags, files):
    line = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        flag, has_value = rng.choice(flags)
        if not has_value:
            line.append(rng.choice([flag, flag, "--no" + flag.lstrip("-"), flag + "=x"]))
        elif rng.random() < 0.05:
            line.append(flag)
        elif flag.startswith("--") and rng.random() < 0.8:
            line.append(flag + "=" + value_of(rng, flag, files))
        else:
            line += [flag, value_of(rng, flag, files)]
    if tool == "make_model":
        if not any(a.startswith("--model") for a in line):
            line += ["--model=mlp", "-o", rng.choice(PATHS)]
        line.append("--small")  # The others take gigabytes.
    if tool in COMMANDS and rng.random() < 0.95:
        line.append(rng.choice(COMMANDS[tool]))
    count = 0 if tool == "make_model" else rng.choice([1, 1, 1, 1, 2, 2, 0, 3])
    if tool == "conformance/main" and count == 0:
        count = 1  # Without a path it runs the whole suite, for minutes.
    for _ in range(count):
        line.append(rng.choice(sorted(files)) if rng.random() < 0.9 else rng.choice(PATHS))
    # No byte 0 can be in an argument.
    return [argument.replace("\0", "") for argument in line]


def limits(seconds):
    """Those of a run: `seconds` of processor time, after which SIGXCPU ends it."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A full disk is an error, and not a signal.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


# A run that waits takes no processor time: it may take so many times its limit by the clock.
CLOCK = 20


def complaint(rng, argv, folder, seconds):
    """What is wrong with the run; None: nothing. It has `seconds` of processor time."""
    env = dict(os.environ, OMP_WAIT_POLICY="passive", TMPDIR=folder)
    out = subprocess.DEVNULL
    if rng.random() < 0.1:
        out = os.open("/dev/full", os.O_WRONLY)
    process = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=subprocess.PIPE, preexec_fn=lambda: limits(seconds),
                               start_new_session=True)
    if out != subprocess.DEVNULL:
        os.close(out)
    try:
        _, err = process.communicate(timeout=CLOCK * seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "no end after %d s" % (CLOCK * seconds)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "no end after %d s of processor time" % seconds
    if process.returncode < 0:
        return "ended by signal %d: %r" % (-process.returncode, err[-300:])
    if process.returncode > 2:
        return "exit status %d: %r" % (process.returncode, err[-300:])
    if process.returncode == 2 and not err:
        return "status 2 without a word"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", err):
        return "standard error has control characters: %r" % err[-300:]
    return None


def run(number, options, flags, files):
    """The complaint about the run of that number, with its command line."""
    rng = random.Random("%d:%d" % (options.seed, number))
    tool = rng.choice(sorted(flags))
    folder = tempfile.mkdtemp(prefix="weft-command-lines-")
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(mutate(rng, data) if data and rng.random() < 0.3 else data)
    os.mkdir(os.path.join(folder, "folder"))
    os.symlink("loop", os.path.join(folder, "loop"))
    os.symlink("model.weft", os.path.join(folder, "link.weft"))
    argv = [os.path.join(options.tools, tool)] + command_line(rng, tool, flags[tool], files)
    wrong = complaint(rng, argv, folder, options.timeout)
    if wrong is None:
        shutil.rmtree(folder)
        return None
    return "run %d: %s\n  cd %s && %s" % (number, wrong, folder,
                                          " ".join(shlex.quote(a) for a in argv))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tools", required=True, help="folder of the programs")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=1 << 60, help="at most so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the run of this number alone")
    parser.add_argument("--timeout", type=int, default=30,
                        help="seconds of processor time for a run")
    parser.add_argument("--seeds", default=os.path.join(os.path.dirname(__file__), "seeds"))
    options = parser.parse_args()
    options.tools = os.path.abspath(options.tools)
    flags = {tool: flags_of(os.path.join(options.tools, tool)) for tool in TOOLS
             if os.path.exists(os.path.join(options.tools, tool))}
    if not flags:
        sys.exit("no tools in " + options.tools)
    files = seeds(options.seeds)
    numbers = range(options.runs) if options.only is None else [options.only]
    end = time.monotonic() + options.seconds
    done = wrong = 0
    for number in numbers:
        if time.monotonic() > end:
            break
        text = run(number, options, flags, files)
        done += 1
        if text is not None:
            wrong += 1
            print(text, flush=True)
    print("seed %d: %d runs of %d tools, %d wrong" % (options.seed, done, len(flags), wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
