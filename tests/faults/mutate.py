#!/usr/bin/env python3
"""Plants small faults in a copy of the tree, one at a time, and says which test catches each.

    tests/faults/mutate.py --check             every edit applies to the tree exactly once (CI)
    tests/faults/mutate.py --list
    tests/faults/mutate.py [--only=NAME,...] [--table=lowering|cpu|graph] [--count=N] [--long]
                           [--output=FILE]

The copy is a git worktree in a temporary folder, at the current commit. The tests that are most
likely to catch a fault run first; when they pass, those of the whole tree do, and with --long the
generators of tests/trust after them, 10,000 programs each. A fault that nothing catches is a
survivor: a hole in the tests, or an edit that changes nothing that can be seen (its entry says so).
Exit status 1 when an edit does not apply, or some fault survives.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import mutations  # pylint: disable=wrong-import-position

FIRST_TESTS = {
    "lowering": [
        "//tests/lowering/...",
        "//tests/backends/cpu:samples_test",
        "//tests/backends/cpu:executable_test",
        "//tests/trust:trust_test",
    ],
    "cpu": [
        "//tests/backends/cpu/interpreter:interpreter_test",
        "//tests/backends/cpu:samples_test",
        "//tests/backends/cpu:executable_test",
        "//tests/trust:trust_test",
    ],
    "graph": [
        "//tests/graph/ops/...",
        "//tests/trust:trust_test",
    ],
}
ALL_TESTS = ["//tests/..."]
GENERATORS = ["schema", "cut", "misfit", "metamorphic"]
TABLES = {
    "lowering": mutations.LOWERING,
    "cpu": mutations.CPU,
    "graph": mutations.GRAPH,
}


class Mutation:

    def __init__(self, table, entry):
        self.table = table
        self.name, self.file, self.old, self.new, self.breaks = entry

    def text(self, root):
        with open(os.path.join(root, self.file), encoding="utf-8") as f:
            return f.read()

    def problem(self, root):
        """Why the edit does not apply to the tree, or None."""
        if not os.path.exists(os.path.join(root, self.file)):
            return "%s is not there" % self.file
        times = self.text(root).count(self.old)
        if times != 1:
            return "its text stands %d times in %s" % (times, self.file)
        return "it changes nothing" if self.old == self.new else None

    def apply(self, root):
        text = self.text(root)
        self._write(root, text.replace(self.old, self.new))
        return text

    def restore(self, root, text):
        self._write(root, text)

    def _write(self, root, text):
        with open(os.path.join(root, self.file), "w", encoding="utf-8") as f:
            f.write(text)


def all_mutations():
    return [Mutation(table, entry) for table, entries in TABLES.items() for entry in entries]


def check(root):
    """Prints the edits that do not apply; returns how many."""
    found = all_mutations()
    problems = [(m.name, m.problem(root)) for m in found if m.problem(root)]
    names = [m.name for m in found]
    problems += [(name, "the name is there twice") for name in set(names) if names.count(name) > 1]
    for name, problem in problems:
        print("%s: %s" % (name, problem))
    print("%d edits, %d of which do not apply" % (len(found), len(problems)))
    return len(problems)


def run_tests(tree, targets):
    """What became of the targets: "caught by ...", "does not build", or None."""
    command = ["./bazelw", "test", "--keep_going", "--test_summary=terse", "--noshow_progress"]
    run = subprocess.run(command + targets, cwd=tree, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False, universal_newlines=True)
    failed = re.findall(r"^(//\S+)\s+(?:FAILED|TIMEOUT|FLAKY)(?! TO BUILD)", run.stdout, re.M)
    failed = [t for t in failed if not re.search(re.escape(t) + r"\s+FAILED TO BUILD", run.stdout)]
    if failed:
        return "caught by " + ", ".join(sorted(set(failed)))
    if run.returncode == 0:
        return None
    return "does not build:\n" + run.stdout[-2000:]


def run_generators(tree):
    for generator in GENERATORS:
        run = subprocess.run(["./bazelw", "run", "//tests/trust:main", "--",
                              "--generator=" + generator, "--count=10000", "--seed=1000000"],
                             cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             check=False)
        if run.returncode != 0:
            return "caught by generator " + generator
    return None


def verdict(tree, mutation, long_run):
    result = run_tests(tree, FIRST_TESTS[mutation.table])
    if result is None:
        result = run_tests(tree, ALL_TESTS)
    if result is None and long_run:
        result = run_generators(tree)
    return result


def make_copy(folder):
    tree = os.path.join(folder, "tree")
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", tree, "HEAD"], check=True,
                   stdout=subprocess.DEVNULL)
    local = os.path.join(ROOT, "user.bazelrc")
    if os.path.exists(local):
        with open(local, encoding="utf-8") as f, \
                open(os.path.join(tree, "user.bazelrc"), "w", encoding="utf-8") as to:
            to.write(f.read())
    return tree


def mutate(chosen, long_run, output):
    lines = []

    def say(line):
        lines.append(line)
        print(line, flush=True)
        if output:
            with open(output, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")

    counts = {"caught": 0, "survives": 0, "does": 0}
    with tempfile.TemporaryDirectory(prefix="weft-mutate-") as folder:
        tree = make_copy(folder)
        try:
            for m in chosen:
                before = m.apply(tree)
                result = verdict(tree, m, long_run) or "survives"
                m.restore(tree, before)
                counts[result.split()[0]] += 1
                say("%s (%s: %s): %s" % (m.name, m.file, m.breaks, result))
        finally:
            subprocess.run(["./bazelw", "shutdown"], cwd=tree, check=False)
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=False)
    say("%d caught, %d survive, %d do not build" %
        (counts["caught"], counts["survives"], counts["does"]))
    return 1 if counts["survives"] or counts["does"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", default="", choices=[""] + sorted(TABLES))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--output", default="")
    args = parser.parse_args()
    if args.check:
        return 1 if check(ROOT) else 0
    chosen = all_mutations()
    if args.table:
        chosen = [m for m in chosen if m.table == args.table]
    if args.only:
        chosen = [m for m in chosen if m.name in args.only.split(",")]
    if args.count:
        chosen = chosen[:args.count]
    if args.list:
        for m in chosen:
            print("%-40s %s: %s" % (m.name, m.file, m.breaks))
        return 0
    return mutate(chosen, args.long, args.output)


if __name__ == "__main__":
    sys.exit(main())
