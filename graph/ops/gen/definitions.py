"""Finds the definitions of ops in C++ sources.

A definition is a line that begins with `WEFT_DEFINE_OP(name,` (the name may stand
on the next line) or, where the name is a C++ keyword, with `const OpDef name_(`.
Its first string that begins with the op's name and "(" is the schema. A line that
begins with `WEFT_SHARED_VIEW(Name, op, ...)` gives ops a view in common.
"""

import collections
import re

from schema import SchemaError, parse_schema

# `name` is the C++ object's; `line` is where the definition begins.
Definition = collections.namedtuple("Definition", "name path line schema")
SharedView = collections.namedtuple("SharedView", "name ops path line")

_DEFINITION = re.compile(r"^(?:WEFT_DEFINE_OP\(\s*|const OpDef (?=[a-z][a-z0-9_]*_\())", re.M)
_INDENTED = re.compile(r"^[ \t]+WEFT_(DEFINE_OP|SHARED_VIEW)\(", re.M)
_SHARED_VIEW = re.compile(r"^WEFT_SHARED_VIEW\(\s*([^)]*)\)", re.M)
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# Comments and raw strings hold no schema; strings in a row are one.
_TOKEN = re.compile(
    r'//[^\n]*|R"\((?:.|\n)*?\)"|"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*|[()]')
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


class DefinitionError(Exception):
    """What is wrong with a source, as `path:line: message`."""

    def __init__(self, path, line, message):
        super().__init__("%s:%d: %s" % (path, line, message))


def _line_at(text, position):
    return text.count("\n", 0, position) + 1


def _strings(text, position):
    """The (position, contents) of the strings up to the end of the parentheses that
    `position` is in."""
    depth = 1
    for token in _TOKEN.finditer(text, position):
        if token[0] in "()":
            depth += 1 if token[0] == "(" else -1
            if depth == 0:
                return
        elif token[0].startswith('"'):
            contents = "".join(_STRING.findall(token[0]))
            yield token.start(), contents.replace('\\"', '"')


def _read_definition(path, text, match):
    line = _line_at(text, match.start())
    name = _NAME.match(text, match.end())
    if not name:
        raise DefinitionError(path, line, "the op's name must follow WEFT_DEFINE_OP(")
    is_macro = match[0].startswith("WEFT")
    op = name[0] if is_macro else name[0][:-1]
    for position, string in _strings(text, name.end() + (0 if is_macro else 1)):
        if not string.startswith(op + "("):
            continue
        try:
            return Definition(name[0], path, line, parse_schema(string))
        except SchemaError as error:
            raise DefinitionError(
                path, _line_at(text, position), "schema of %s: %s" % (op, error)) from error
    raise DefinitionError(path, line, 'op %s has no schema that begins with "%s("' % (op, op))


def _read_shared_view(path, text, match):
    line = _line_at(text, match.start())
    words = [word.strip() for word in match[1].split(",")]
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", words[0]) or len(words) < 2:
        raise DefinitionError(path, line, "expected WEFT_SHARED_VIEW(Name, op, ...)")
    return SharedView(words[0], words[1:], path, line)


def read_source(path, text):
    """The definitions and shared views of one file, in its order."""
    indented = _INDENTED.search(text)
    if indented:
        raise DefinitionError(path, _line_at(text, indented.start()),
                              "WEFT_%s must begin its line" % indented[1])
    return ([_read_definition(path, text, match) for match in _DEFINITION.finditer(text)],
            [_read_shared_view(path, text, match) for match in _SHARED_VIEW.finditer(text)])


def read_sources(sources):
    """All definitions by name, and the shared views, of (path, text) pairs."""
    definitions = {}
    views = []
    for path, text in sources:
        found, shared = read_source(path, text)
        views += shared
        for definition in found:
            other = definitions.setdefault(definition.name, definition)
            if other is not definition:
                raise DefinitionError(path, definition.line, "op %s is also defined in %s" % (
                    definition.name, other.path))
    for view in views:
        for op in view.ops:
            if op not in definitions:
                raise DefinitionError(view.path, view.line, "no op has the name %s" % op)
    return dict(sorted(definitions.items())), views
