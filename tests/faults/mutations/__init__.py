"""Small faults to plant in the sources: the tables of mutate.py.

An entry is (name, file, old, new, what it breaks). `old` stands exactly once in the file; the name
is unique. The tables are mutated alike; they differ in the tests that are asked first.
"""

from mutations import (
    checks, cpu, cuda, decisions, device, files, graph, lowering, own_ops, plain_ops, quantize,
)

TABLES = {
    "lowering": lowering.MUTATIONS,
    "cpu": cpu.MUTATIONS,
    "plain": plain_ops.MUTATIONS,
    "graph": graph.MUTATIONS,
    "decisions": decisions.MUTATIONS,
    "quantize": quantize.MUTATIONS,
    "device": device.MUTATIONS,
    "files": files.MUTATIONS,
    "checks": checks.MUTATIONS,
    "cuda": cuda.MUTATIONS,
    "own_ops": own_ops.MUTATIONS,
}
