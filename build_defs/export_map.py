"""Writes the linker's version script of libweft.so.

    export_map.py --headers H... --archives A...

A symbol of the archives is exported when every part of its name, from the one
after `weft` on, is a word of one public header: the class or function is declared
there. Data that a function or a class brings with it (vtables, guards) goes by
its owner's name. All else is hidden.
"""

import argparse
import re
import subprocess

# Comments, and strings, which hold no names.
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

# The prefixes of what belongs to an entity: vtable, VTT, type information and
# its name, guard variable, thunks; Z stands before what is local to a function.
_SPECIAL = re.compile(r"^_Z(?:TV|TT|TI|TS|GV|Th[n\d]+_|Tv[n\d]+_[n\d]+_)?Z*")
_OPERATOR = re.compile(r"[a-z][a-zA-Z]")


def words_of(path):
    with open(path, encoding="utf-8") as file:
        return set(re.findall(r"\w+", _NOT_CODE.sub(" ", file.read())))


def parts_of(symbol):
    """Names of a mangled symbol below `weft`, down to the first that has template
    arguments; none when the symbol is not of `weft`."""
    match = _SPECIAL.match(symbol)
    if not match:
        return []
    rest = symbol[match.end():]
    qualifiers = re.match(r"N[rVKRO]*", rest)
    if not qualifiers:
        return []
    rest = rest[qualifiers.end():]
    parts = []
    while rest[:1].isdigit():
        digits = re.match(r"\d+", rest).group()
        end = len(digits) + int(digits)
        parts.append(rest[len(digits):end])
        rest = rest[end:]
    if parts[:1] != ["weft"]:
        return []
    if len(parts) == 1 and _OPERATOR.match(rest):
        parts.append("operator")
    return parts[1:]


def symbols_of(archives):
    lines = subprocess.run(
        ["nm", "--extern-only", "--defined-only", "--format=posix"] + archives,
        check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return sorted({line.split()[0] for line in lines if len(line.split()) > 1})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headers", nargs="+", required=True)
    parser.add_argument("--archives", nargs="+", required=True)
    args = parser.parse_args()
    headers = [words_of(path) for path in args.headers]
    exported = []
    for symbol in symbols_of(args.archives):
        parts = set(parts_of(symbol))
        if parts and any(parts <= words for words in headers):
            exported.append(symbol)
    print("{")
    print("  global:")
    for symbol in exported:
        print("    %s;" % symbol)
    print("  local: *;")
    print("};")


if __name__ == "__main__":
    main()
