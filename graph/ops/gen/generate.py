#!/usr/bin/env python3
"""Generates what the definitions of ops say twice.

    generate.py --out=DIR FILE.cc...

Writes to DIR:

    ops.h, registry.cc       all ops, and the registry of them
    FAMILY.h, FAMILY.cc      per folder of graph/ops: views and builders of its ops
    signatures.txt           the arguments of each op, for a test
"""

import argparse
import os
import sys

import definitions
import emit


def generate(sources):
    """Lines by the name of the file, from (path, text) pairs."""
    ops, views = definitions.read_sources(sources)
    shared = emit.join_shared_views(views, ops)
    files = {
        "ops.h": emit.ops_header(ops),
        "registry.cc": emit.registry(ops),
        "signatures.txt": emit.signatures(ops),
    }
    for family in sorted({emit.family_of(op.path) for op in ops.values()} - {""}):
        members = [op for op in ops.values() if emit.family_of(op.path) == family]
        files[family + ".h"] = emit.family_header(family, members, shared[family])
        files[family + ".cc"] = emit.family_source(family, members, shared[family])
    return files


def main():
    parser = argparse.ArgumentParser(usage="generate.py --out=DIR FILE.cc...")
    parser.add_argument("--out", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    sources = []
    for path in args.files:
        with open(path, encoding="utf-8") as file:
            sources.append((path, file.read()))
    try:
        files = generate(sources)
    except definitions.DefinitionError as error:
        sys.exit(str(error))
    for name, lines in files.items():
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
