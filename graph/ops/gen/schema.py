"""Reads the schema of an op; graph/ir/op_schema.h has the notation.

The library parses the same text when it runs (graph/ir/schema.cc). A test
holds what this parser finds against what that one finds, for every op.
"""

import collections
import re

# Kinds: an operand is "Tensor" or "SymInt*"; an attribute is a name below, with
# "[]" for a list; a region is "Graph".
ATTRIBUTE_KINDS = (
    "bool", "int", "SymInt", "float", "str", "ScalarType", "int[]", "SymInt[]", "float[]", "str[]")

# `default` is the text after `=`, or None. An optional argument without one is
# absent by default.
Argument = collections.namedtuple("Argument", "name kind optional variadic default")
# `num_results` is None for a list of results.
Schema = collections.namedtuple("Schema", "text operands attributes regions num_results")

# Names that an accessor or a parameter of generated code cannot have.
_TAKEN = {"maker", "node"}
_KEYWORDS = set("""alignas alignof and asm auto bool break case catch char class const constexpr
    continue decltype default delete do double else enum explicit extern false float for friend
    goto if inline int long mutable namespace new not operator or private protected public
    register return short signed sizeof static struct switch template this throw true try typedef
    typeid typename union unsigned using virtual void volatile while xor""".split())

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_TENSOR = re.compile(r"Tensor(?:\([a-z]!?\))?(\[\])?(\?)?")


class SchemaError(Exception):
    """A schema that cannot be read, and why."""


def _split(text):
    """Splits at commas outside of brackets and quotes."""
    parts = [""]
    depth = 0
    quoted = False
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "([") - (c in ")]")
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _default_fits(kind, text):
    if text == "None":
        return True
    if kind.endswith("[]"):
        items = re.fullmatch(r"\[(.*)\]", text)
        # The library reads no lists of strings but empty ones.
        return items is not None and (not items[1] or kind != "str[]") and all(
            _default_fits(kind[:-2], item) for item in _split(items[1]))
    pattern = {
        "bool": r"True|False",
        "int": r"-?\d+",
        "SymInt": r"-?\d+",
        "float": r"-?\d+(\.\d+)?(e[-+]?\d+)?",
        "str": r'"[^"]*"',
        "ScalarType": r"[a-z]+\d\w*|bool",
    }[kind]
    return re.fullmatch(pattern, text) is not None


def _check_default(argument):
    if argument.default is None:
        return
    if argument.default == "None" and not argument.optional:
        raise SchemaError("%s is not optional, so its default cannot be None" % argument.name)
    if argument.kind not in ATTRIBUTE_KINDS:
        if argument.default != "None":
            raise SchemaError("the default of operand %s can only be None" % argument.name)
    elif not _default_fits(argument.kind, argument.default):
        raise SchemaError("%s cannot be the default of %s %s" % (
            argument.default, argument.kind, argument.name))


def _parse_argument(text):
    text, _, default = (part.strip() for part in text.partition("="))
    kind, _, name = text.rpartition(" ")
    if not kind:
        raise SchemaError('"%s" needs a type and a name' % text)
    if not _NAME.fullmatch(name) or name in _KEYWORDS | _TAKEN:
        raise SchemaError('an argument cannot have the name "%s"' % name)
    tensor = _TENSOR.fullmatch(kind)
    if tensor:
        argument = Argument(name, "Tensor", bool(tensor[2]), bool(tensor[1]), default or None)
    else:
        base = kind[:-1] if kind.endswith("?") else kind
        if base not in ATTRIBUTE_KINDS + ("SymInt*", "Graph"):
            raise SchemaError("%s has the unknown type %s" % (name, kind))
        argument = Argument(name, base, kind != base, False, default or None)
    _check_default(argument)
    return argument


def _count_results(text):
    """The number of results, or None for a list of them."""
    results = _split(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
    for result in results:
        if not re.fullmatch(r"(Tensor(\([a-z]!?\))?(\[\])?|SymInt)( [a-z_][a-z0-9_]*)?", result):
            raise SchemaError('"%s" is not a result' % result)
    return None if any("[]" in result for result in results) else len(results)


def parse_schema(text):
    """The Schema of `text`; raises SchemaError."""
    match = re.fullmatch(r"[a-z_][a-z0-9_.]*\((.*)\) -> (.+)", text)
    if not match:
        raise SchemaError("a schema is name(arguments) -> results")
    places = {"operands": [], "attributes": [], "regions": []}
    order = list(places)
    last = 0
    for part in _split(match[1]):
        if part == "*":
            continue
        argument = _parse_argument(part)
        place = {"Tensor": 0, "SymInt*": 0, "Graph": 2}.get(argument.kind, 1)
        if place < last:
            raise SchemaError("%s comes after %s; operands come first, then attributes, then "
                              "regions" % (argument.name, order[last]))
        if place == 0 and places["operands"] and places["operands"][-1].variadic:
            raise SchemaError("%s comes after a list, which must be the last operand" %
                              argument.name)
        if any(argument.name == other.name for found in places.values() for other in found):
            raise SchemaError("two arguments have the name %s" % argument.name)
        places[order[place]].append(argument)
        last = place
    return Schema(text, *(places[name] for name in order), _count_results(match[2]))
