#!/usr/bin/env python3
"""Plants small faults in a copy of the tree, one at a time, and says which test catches each.

    tests/faults/mutate.py --check             every edit applies to the tree exactly once (CI)
    tests/faults/mutate.py --list
    tests/faults/mutate.py [--only=NAME,...] [--table=NAME] [--count=N]
                           [--level=first|all|long] [--jobs=N] [--output=FILE] [--resume]
                           [--tree=DIR]

The copy is a git worktree in a temporary folder, or in DIR, which is kept for the next run, at the
current commit. Level `first` runs the tests that are most likely to catch the fault, a few at a
time, up to the first that fails; `all`, the default, runs those of the whole tree when they pass;
`long` the generators of tests/trust after that, 10,000 programs each. A fault that nothing catches
is a survivor: a hole in the tests, or an edit that changes nothing that can be seen. A test that
does not end in time counts as one that fails. --resume leaves out what FILE says is caught.
Exit status 1 when an edit does not apply or build, or some fault survives.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import mutations  # pylint: disable=wrong-import-position

# Steps of tests by the path of the file; the longest that the file's path begins with counts. Within
# a step the order is Bazel's.
FIRST_TESTS = {
    "lowering/": [
        [
            "//tests/lowering:memory_plan_test",
            "//tests/lowering:plans_test",
            "//tests/lowering:samples_test",
            "//tests/lowering:views_test",
            "//tests/lowering:write_backs_test",
        ],
        ["//tests/backends/cpu:executable_test"],
        ["//tests/api:misfit_data_test"],
        ["//tests/lowering:random_test"],
        ["//tests/trust:trust_test"],
        ["//tests/backends/cpu:library_test"],
        ["//tests/backends/cpu:samples_test"],
        ["//tests/backends/cpu:epilogue_native_test"],
    ],
    "lowering/emit/": [
        ["//tests/lowering/emit:emit_test"],
        ["//tests/backends/cpu/emit:emitted_kernels_test", "//tests/backends/cpu/emit:emitted_functions_test"],
    ],
    "backends/cpu/emit/": [
        ["//tests/backends/cpu/emit:emitted_kernels_test", "//tests/backends/cpu/emit:emitted_functions_test"],
        ["//tests/backends/cpu:samples_test"],
        ["//tests/trust:trust_test"],
    ],
    "lowering/plan_": [
        ["//tests/backends/runtime:standalone_test"],
        ["//tests/lowering:plans_test", "//tests/lowering:write_backs_test"],
        ["//tests/lowering:random_test"],
    ],
    "lowering/propagate_layout": [["//tests/lowering:propagate_layout_test"]],
    "lowering/schedule_kernel": [["//tests/lowering:schedule_kernel_test"]],
    "lowering/check_schedule": [["//tests/lowering:schedule_kernel_test"]],
    "backends/cpu/": [
        ["//tests/backends/cpu/interpreter:interpreter_test"],
        ["//tests/backends/cpu:executable_test"],
        ["//tests/trust:trust_test"],
        ["//tests/backends/cpu:samples_test"],
        ["//tests/backends/cpu:differential_test"],
        ["//tests/backends/cpu:library_test"],
        ["//tests/backends/cpu:epilogue_native_test"],
        ["//tests/backends/cpu:agreement_test"],
    ],
    "backends/cpu/kernels/attention": [
        ["//tests/backends/cpu:executable_test"],
        ["//tests/backends/cpu:library_test"],
        ["//tests/backends/cpu:samples_test"],
        ["//tests/trust:trust_test"],
    ],
    "backends/cpu/kernels/fourier": [["//tests/backends/cpu:fourier_test"]],
    "backends/cpu/library/fourier": [["//tests/backends/cpu:fourier_test"]],
    "backends/cpu/kernels/sample": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/library/resample": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/kernels/tile_memory": [
        ["//tests/backends/cpu:float8_test", "//tests/backends/cpu/interpreter:interpreter_test"],
        ["//tests/backends/cpu:executable_test"],
        ["//tests/backends/cpu:samples_test"],
        ["//tests/backends/cpu:differential_test", "//tests/backends/cpu:agreement_test"],
    ],
    "backends/cpu/evaluator": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/kernels/group": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/kernels/order": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/kernels/place": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/kernels/scan": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/library/plain_convolution": [["//tests/backends/cpu:integer_avx2_test"]],
    "backends/cpu/library/library_scan": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/library/library_scatter": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/library/library_sort": [["//tests/backends/cpu:order_test"]],
    "backends/cpu/library/library_grid": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/library/library_fold": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/library/library_float8": [["//tests/backends/cpu:float8_test"]],
    "backends/cpu/library/library_roll": [["//tests/backends/cpu:sampling_test"]],
    "backends/cpu/library/library_convolution": [["//tests/backends/cpu:sampling_test"]],
    "backends/cuda/": [
        ["//tests/backends/cuda:run_test"],
        ["//tests/backends/cuda:hazards_test", "//tests/backends/cuda:block_ranges_test"],
        ["//tests/backends/cuda:samples_test"],
    ],
    "backends/cpu/onednn/plain": [["//tests/backends/cpu:plain_ops_test"]],
    "backends/cuda/routines/grid_sampler": [["//tests/backends/cuda:order_test"]],
    "backends/cuda/routines/interpolate": [["//tests/backends/cuda:order_test"]],
    "backends/cuda/routines/routine_code": [["//tests/backends/cuda:order_test"]],
    "backends/cuda/routines/scan": [["//tests/backends/cuda:order_test"]],
    "backends/cuda/routines/scatter": [["//tests/backends/cuda:order_test"]],
    "backends/cuda/routines/sort": [["//tests/backends/cuda:order_test"]],
    "backends/cpu/interpreter/copy": [["//tests/backends/cpu/interpreter:run_copy_test"]],
    "backends/cpu/kernels/integer_finish": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/kernels/depthwise": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/kernels/unit_finish": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/kernels/depthwise_lines": [
        ["//tests/backends/cpu:finished_products_avx2_vnni_test"],
    ],
    "backends/cpu/library/depthwise_lines": [
        ["//tests/backends/cpu:finished_products_avx2_vnni_test"],
    ],
    "backends/cpu/kernels/integer_gemm": [["//tests/backends/cpu:byte_products_avx2_test"]],
    "backends/cpu/library/integer_batch": [["//tests/backends/cpu:byte_products_avx2_test"]],
    "backends/cpu/library/integer_weights": [["//tests/backends/cpu:byte_products_avx2_test"]],
    "backends/cpu/library/integer_gemm": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/interpreter/byte": [
        ["//tests/backends/cpu:byte_function_test",
         "//tests/backends/cpu:finished_products_avx2_test"],
    ],
    "backends/cpu/kernels/byte_max": [["//tests/backends/cpu:byte_pooling_avx2_test"]],
    "backends/cpu/library/find_finish": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/library/found_finish": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/library/depthwise": [["//tests/backends/cpu:finished_products_avx2_test"]],
    "backends/cpu/library/library_observe": [["//tests/backends/cpu:observe_test"]],
    "passes/fold_batch_norm": [["//tests/golden:golden_test"]],
    "passes/train_batch_norm": [["//tests/golden:golden_test"]],
    "serialize/gguf": [["//tests/serialize/gguf:gguf_test"]],
    "backends/cpu/library/byte_": [
        ["//tests/backends/cpu:byte_pooling_avx2_test"],
        ["//tests/backends/cpu:byte_products_avx2_test"],
    ],
    "backends/plugin/": [
        ["//tests/backends/plugin:plugin_test"],
        ["//tests/examples:device_test"],
    ],
    "api/plugin": [["//tests/examples:device_load_test", "//tests/examples:device_test"]],
    "passes/quantize": [
        [
            "//tests/passes/quantize:annotate_test",
            "//tests/passes/quantize:observer_test",
            "//tests/passes/quantize:policy_test",
            "//tests/passes:quantize_plan_test",
        ],
        ["//tests/golden:golden_test"],
    ],
    "api/quantize/": [["//tests/api/quantize:quantizer_test",
                        "//tests/api/quantize:integer_biases_test"]],
    "passes/autocast": [["//tests/passes/autocast:autocast_test"], ["//tests/golden:golden_test"]],
    "backends/cpu/library/library.cc": [["//tests/backends/cpu:narrow_weights_test"],
                                        ["//tests/backends/cpu:library_test"]],
    "graph/text/": [["//tests/graph/text:text_symbols_test", "//tests/graph/text:text_test"]],
    "passes/fuse": [
        ["//tests/passes/fuse:pattern_decisions_test", "//tests/passes/fuse:decision_test"],
        ["//tests/golden:golden_test"],
    ],
    "passes/fold_scales": [["//tests/passes:fold_scales_test"], ["//tests/golden:golden_test"]],
    "passes/fuse_nbits": [["//tests/passes/fuse:nbits_test"], ["//tests/golden:golden_test"]],
    "backends/cpu/kernels/nbits": [["//tests/backends/cpu:nbits_avx2_test"]],
    "backends/cpu/library/nbits": [["//tests/backends/cpu:nbits_avx2_test"]],
    "backends/cpu/library/library_nbits": [["//tests/backends/cpu:nbits_avx2_test"]],
    "graph/cost/": [["//tests/graph/cost:cost_test"], ["//tests/golden:golden_test"]],
    "lowering/kernel_cost": [["//tests/lowering:kernel_cost_test"]],
    "lowering/step_cost": [["//tests/lowering:step_cost_test"]],
    "graph/ir/op_map": [["//tests/graph/ops:maps_test"]],
    "api/check/target/": [
        ["//tests/trust:judge_test", "//tests/api/check/target:node_judge_test"],
        ["//tests/api/check/target:target_check_test"],
    ],
    "api/dynamic/": [["//tests/api:program_guards_test", "//tests/api:program_test"]],
    "api/program": [["//tests/api:program_guards_test", "//tests/api:program_test"],
                    ["//tests/api/c:state_test"]],
    "api/inspect/": [["//tests/api/inspect/..."], ["//tests/tools/..."]],
    "api/check/pass_bisect": [["//tests/tools/..."]],
    "graph/ir/": [["//tests/graph/..."], ["//tests/golden:golden_test"]],
    "backends/runtime/plan_runner_observed": [["//tests/api/check/target:target_check_test"]],
    "backends/runtime/": [
        ["//tests/backends/runtime/..."],
        ["//tests/backends/cpu:executable_test", "//tests/backends/cuda:device_tensors_test"],
    ],
    "api/session_device": [["//tests/backends/cuda:device_tensors_test"]],
    "passes/canonicalize": [["//tests/golden:golden_test"], ["//tests/passes/..."]],
    "passes/equalize_channels": [["//tests/golden:golden_test"], ["//tests/passes/quantize/..."]],
    "api/compiler": [["//tests/api:session_test", "//tests/api/check/target:target_check_test"]],
    "examples/device/": [
        ["//tests/examples:device_zones_test"],
        ["//tests/examples:device_test"],
    ],
    "graph/ir/module": [["//tests/api:session_test", "//tests/api:program_test"]],
    "serialize/pt2/rational": [
        ["//tests/serialize/pt2:rational_test"],
        ["//tests/serialize/pt2:sizes_test"],
    ],
    "serialize/flat/": [["//tests/serialize/flat:weftb_test",
                         "//tests/serialize/flat:weftb_hostile_test"]],
    "graph/text/": [["//tests/graph/text:text_content_test", "//tests/graph/text:text_test"]],
    "api/compiled_file": [["//tests/serialize/flat:weftb_test"]],
    "api/runtime/": [["//tests/api:machine_code_test"], ["//tests/api:model_source_test"]],
    "backends/cpu/aot/": [["//tests/api:compiled_library_test"],
                          ["//tests/api:model_source_test"]],
    "backends/cpu/standalone/model": [["//tests/api:machine_code_test",
                                       "//tests/api:instruction_sets_test"]],
    "tests/trust/judge": [["//tests/trust:judge_test"]],
    "tools/bench/": [["//tests/examples:device_tool_test", "//tests/tools:bench_test"]],
    "graph/ops/signal/chirp": [["//tests/backends/cpu:fourier_test"]],
    "graph/ops/formula": [["//tests/passes/engine:rule_ops_test"], ["//tests/api:own_ops_test"]],
    "passes/engine/rules/": [["//tests/passes/engine:rule_ops_test",
                              "//tests/passes/engine:rule_file_test"]],
    "api/extensions": [["//tests/api:extensions_test"]],
    "api/c/entries/": [["//tests/api/c:plan_test", "//tests/api/c:state_test",
                        "//tests/api/c:weft_api_test", "//tests/api/c:own_ops_test"]],
    "api/c/library/": [["//tests/api/c:device_test", "//tests/api/c:own_ops_test",
                        "//tests/api/c:state_test", "//tests/api/c:weft_api_test"]],
    "backends/runtime/host_": [["//tests/api/c:host_test"]],
    "serialize/onnx/": [["//tests/serialize/onnx:own_ops_test"]],
    "graph/ops/": [
        [
            "//tests/graph/ops:conformance_test",
            "//tests/graph/ops:decompose_contracts_test",
            "//tests/graph/ops:maps_test",
            "//tests/graph/ops:nbits_values_test",
            "//tests/graph/ops:nn_values_test",
            "//tests/graph/ops:observe_test",
            "//tests/graph/ops:shape_infer_test",
            "//tests/graph/ops:symbolic_eval_test",
            "//tests/graph/ops:symbolic_values_test",
            "//tests/graph/cost:cost_test",
        ],
        ["//tests/trust:trust_test"],
    ],
}
# Without those that read the text of the sources, and would see any edit.
ALL_TESTS = [
    "//tests/...",
    "-//tests/embedding:headers_test",
    "-//tests/faults:mutations_test",
    "-//tests/layering/...",
]
BAZEL_TEST = [
    "./bazelw",
    "test",
    "--notest_keep_going",
    "--test_summary=terse",
    "--test_output=summary",
    "--noshow_progress",
    # What is built of a fault serves once.
    "--noremote_upload_local_results",
]
GENERATORS = ["schema", "cut", "misfit", "metamorphic"]
TABLES = mutations.TABLES


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


class Copy:
    """A worktree of the current commit, to plant faults in."""

    def __init__(self, folder, jobs):
        self.tree = os.path.join(folder, "tree")
        self.options = ["--jobs=%d" % jobs, "--local_test_jobs=%d" % jobs] if jobs else []
        if os.path.exists(self.tree):
            self._run(["git", "checkout", "--quiet", "--force", "--detach", head()], self.tree)
            return
        self._run(["git", "worktree", "add", "--detach", self.tree, head()], ROOT)
        local = os.path.join(ROOT, "user.bazelrc")
        if os.path.exists(local):
            shutil.copy(local, self.tree)
        # tests/trust cuts parts from models beside the checkout, where there are some.
        shared = os.path.join(os.path.dirname(ROOT), "shared")
        if os.path.exists(shared):
            os.symlink(shared, os.path.join(folder, "shared"))

    def remove(self):
        subprocess.run(["./bazelw", "clean", "--expunge"], cwd=self.tree, check=False)
        subprocess.run(["git", "worktree", "remove", "--force", self.tree], cwd=ROOT, check=False)

    def test(self, targets):
        """What became of the targets: "caught by ...", "does not build", or None."""
        run = subprocess.run(BAZEL_TEST + self.options + ["--"] + targets,
                             cwd=self.tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             check=False, universal_newlines=True)
        failed = re.findall(r"^(?:FAIL|TIMEOUT): (//\S+)|Testing (//\S+).* failed: Test failed",
                            run.stdout, re.M)
        failed = {name for names in failed for name in names if name}
        if failed:
            return "caught by " + ", ".join(sorted(failed))
        if run.returncode == 0:
            return None
        return "does not build:\n" + run.stdout[-2000:]

    def generate(self):
        """What the generators of tests/trust find: "caught by ...", or None."""
        subprocess.run(["./bazelw", "build"] + self.options + ["//tests/trust:main"],
                       cwd=self.tree, check=True, stderr=subprocess.DEVNULL)
        for generator in GENERATORS:
            run = subprocess.run(["bazel-bin/tests/trust/main", "--generator=" + generator,
                                  "--count=10000", "--seed=1000000"],
                                 cwd=self.tree, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False)
            if run.returncode != 0:
                return "caught by generator " + generator
        return None

    @staticmethod
    def _run(command, folder):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def head():
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()


def first_tests(file):
    return FIRST_TESTS[max((p for p in FIRST_TESTS if file.startswith(p)), key=len)]


def verdict(copy, file, level):
    """The level that says something about the tree, and what; None where nothing does."""
    for targets in first_tests(file):
        result = copy.test(targets)
        if result:
            return "first", result
    if level == "first":
        return None, "survives"
    result = copy.test(ALL_TESTS)
    if result:
        return "all", result
    if level == "all":
        return None, "survives"
    result = copy.generate()
    return ("long", result) if result else (None, "survives")


def caught_before(output):
    """The lines of an earlier run about faults that were caught, by name."""
    if not os.path.exists(output):
        return {}
    with open(output, encoding="utf-8") as f:
        found = [re.match(r"(\S+) \(.*\): caught by .* \[(\w+), \d+ s\]$", line) for line in f]
    return {match.group(1): match for match in found if match}


def mutate(chosen, level, copy, output, known):
    lines = []

    def say(line):
        lines.append(line)
        print(line, flush=True)
        if output:
            with open(output, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")

    counts = collections.Counter()
    for name in [m.name for m in chosen if m.name in known]:
        counts[known[name].group(2)] += 1
        say(known[name].group(0))
    for m in [m for m in chosen if m.name not in known]:
        begin = time.time()
        before = m.apply(copy.tree)
        try:
            by, result = verdict(copy, m.file, level)
        finally:
            m.restore(copy.tree, before)
        kind = by if result.startswith("caught") else result.split(":")[0]
        counts[kind] += 1
        say("%s (%s: %s): %s [%s, %d s]" %
            (m.name, m.file, m.breaks, result, kind, time.time() - begin))
    say("%d faults: %s" %
        (len(chosen), ", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items()))))
    return 1 if counts["survives"] or counts["does not build"] else 0


def passes_without(chosen, copy):
    """Whether the tree without a fault passes the first tests of those that are chosen."""
    steps = [step for m in chosen for step in first_tests(m.file)]
    targets = sorted({target for step in steps for target in step})
    result = copy.test(targets) if targets else None
    if result:
        print("the tree without a fault: " + result)
    return result is None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", default="", choices=[""] + sorted(TABLES))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--level", default="all", choices=["first", "all", "long"])
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--output", default="")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--tree", default="")
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
    folder = os.path.abspath(args.tree or tempfile.mkdtemp(prefix="weft-mutate-"))
    copy = Copy(folder, args.jobs)
    try:
        known = caught_before(args.output) if args.resume else {}
        if not passes_without([m for m in chosen if m.name not in known], copy):
            return 1
        return mutate(chosen, args.level, copy, args.output, known)
    finally:
        if not args.tree:
            copy.remove()
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
