"""Writes C++ for the ops of definitions.py.

A family is the folder of graph/ops that an op is defined in. Its header declares
its ops and, for each, a view of a node (named operands, typed attributes), one of its
attributes without a node, a function that makes an attribute list, and one that makes a
node.
"""

import collections

from definitions import DefinitionError

_BANNER = "// Generated from the definitions in graph/ops. Do not edit."

# By kind of attribute: what a view gives and the getter of AttrView, and what a
# builder takes.
_Kind = collections.namedtuple("_Kind", "given getter taken")
_KINDS = {
    "bool": _Kind("bool", "Bool", "bool"),
    "int": _Kind("int64_t", "Int", "int64_t"),
    "SymInt": _Kind("SymInt", "Sym", "SymInt"),
    "float": _Kind("double", "Float", "double"),
    "str": _Kind("const std::string&", "Str", "absl::string_view"),
    "ScalarType": _Kind("DType", "Dtype", "DType"),
    "int[]": _Kind("std::vector<int64_t>", "Ints", "absl::Span<const int64_t>"),
    "SymInt[]": _Kind("absl::Span<const SymInt>", "Syms", "absl::Span<const SymInt>"),
    "float[]": _Kind("absl::Span<const double>", "Floats", "absl::Span<const double>"),
    "str[]": _Kind("absl::Span<const std::string>", "Strs", "absl::Span<const std::string>"),
}
_OPTIONAL_KINDS = {
    "bool": _Kind("std::optional<bool>", "OptionalBool", "std::optional<bool>"),
    "int": _Kind("std::optional<int64_t>", "OptionalInt", "std::optional<int64_t>"),
    "SymInt": _Kind("std::optional<SymInt>", "OptionalSym", "std::optional<SymInt>"),
    "float": _Kind("std::optional<double>", "OptionalFloat", "std::optional<double>"),
    "str": _Kind("std::optional<absl::string_view>", "OptionalStr",
                 "std::optional<absl::string_view>"),
}

# `schema` is that of all ops where they have one, else None.
SharedView = collections.namedtuple("SharedView", "name ops operands attributes schema")


def family_of(path):
    """The folder of graph/ops that the source is in; empty when it is in none."""
    folder = path.rpartition("graph/ops/")[2].split("/")
    return folder[0] if len(folder) > 1 else ""


def camel(name):
    """layer_norm as LayerNorm, copy_ as CopyInPlace."""
    in_place = "InPlace" if name.endswith("_") else ""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")) + in_place


def _kind(attribute):
    return (_OPTIONAL_KINDS if attribute.optional else _KINDS)[attribute.kind]


# --- Views.


def _operand_accessor(i, operand):
    if operand.variadic:
        return "  OperandRange %s() const { return Operands(%d); }" % (operand.name, i)
    return "  Value* %s() const { return Operand(%d); }" % (operand.name, i)


def _attribute_accessor(i, attribute):
    kind = _kind(attribute)
    return "  %s %s() const { return %s(%d); }" % (kind.given, attribute.name, kind.getter, i)


def _accessors(operands, attributes, regions=()):
    return ([_operand_accessor(i, operand) for i, operand in enumerate(operands)] +
            [_attribute_accessor(i, attribute) for i, attribute in enumerate(attributes)] +
            ["  Graph* %s() const { return Region(%d); }" % (region.name, i)
             for i, region in enumerate(regions)])


def _attr_view(name, attributes, ops):
    """Nothing for ops without attributes."""
    return ["class %sAttrView : public AttrView {" % name,
            " public:",
            "  explicit %sAttrView(const Attrs& attrs) : AttrView(attrs, {%s}) {}" % (
                name, ", ".join("&ops::" + op for op in ops)),
            *_accessors((), attributes),
            "};"] if attributes else []


def _view(definition):
    name = camel(definition.name) + "View"
    schema = definition.schema
    return ["class %s : public NodeView {" % name,
            " public:",
            "  explicit %s(const Node& node) : NodeView(node, ops::%s) {}" % (
                name, definition.name),
            *_accessors(schema.operands, schema.attributes, schema.regions),
            "};",
            *_attr_view(camel(definition.name), schema.attributes, [definition.name])]


def _shared_view(view):
    name = view.name + "View"
    return ["// What %s have in common." % ", ".join(view.ops),
            "bool Is%s(const OpDef& op);" % view.name,
            "class %s : public NodeView {" % name,
            " public:",
            "  explicit %s(const Node& node) : NodeView(node, ops::Is%s) {}" % (name, view.name),
            *_accessors(view.operands, view.attributes),
            "};",
            *_attr_view(view.name, view.attributes, view.ops),
            *(_declarations(view.name, view.schema, "const OpDef& op") if view.schema else [])]


# --- Builders.


def _default(argument):
    if argument.default in (None, "None"):
        return "std::nullopt" if argument.kind in _KINDS else "nullptr"
    text = argument.default
    if argument.kind.endswith("[]"):
        return "{%s}" % text[1:-1]
    if argument.kind == "bool":
        return text.lower()
    if argument.kind == "ScalarType":
        return "DType::k" + text[:1].upper() + text[1:]
    return text


def _has_default(argument):
    return argument.optional or argument.default is not None


def _parameters(arguments, with_defaults):
    """What comes before a parameter without a default has none either."""
    last = max((i for i, a in enumerate(arguments) if not _has_default(a)), default=-1)
    parameters = []
    for i, argument in enumerate(arguments):
        if argument.kind == "Graph":
            taken = "std::unique_ptr<Graph>"
        elif argument.kind in _KINDS:
            taken = _kind(argument).taken
        else:
            taken = "absl::Span<Value* const>" if argument.variadic else "Value*"
        default = " = " + _default(argument) if with_defaults and i > last else ""
        parameters.append("%s %s%s" % (taken, argument.name, default))
    return parameters


def _value_of(attribute):
    if attribute.optional:
        return "OptionalAttr(%s)" % attribute.name
    if attribute.kind in ("int[]", "float[]", "str[]"):
        return "ListAttr(%s)" % attribute.name
    return "AttrValue(%s)" % attribute.name


def _attrs_signature(name, schema, with_defaults):
    return "const AttrList* %sAttrs(%s)" % (
        name, ", ".join(_parameters(schema.attributes, with_defaults)))


def _build_signature(name, schema, with_defaults, op=""):
    result = "Value*" if schema.num_results == 1 else "std::vector<Value*>"
    first = ["Builder& maker" if schema.regions else "NodeMaker& maker"] + ([op] if op else [])
    arguments = schema.operands + schema.attributes + schema.regions
    return "%s Build%s(%s)" % (
        result, name, ", ".join(first + _parameters(arguments, with_defaults)))


def _declarations(name, schema, op=""):
    return ([_attrs_signature(name, schema, True) + ";"] if schema.attributes else []) + [
        _build_signature(name, schema, True, op) + ";"]


def _operand_list(operands):
    names = [operand.name for operand in operands]
    if not operands or not operands[-1].variadic:
        return "{%s}" % ", ".join(names)
    if len(operands) == 1:
        return names[0]
    return "JoinOperands({%s}, %s)" % (", ".join(names[:-1]), names[-1])


def _definitions(name, schema, op, op_parameter=""):
    lines = []
    attrs = "AttrList::Empty()"
    if schema.attributes:
        lines += [_attrs_signature(name, schema, False) + " {",
                  "  return AttrList::Get({%s});" % ", ".join(map(_value_of, schema.attributes)),
                  "}"]
        attrs = "%sAttrs(%s)" % (name, ", ".join(a.name for a in schema.attributes))
    arguments = [op, _operand_list(schema.operands), attrs]
    if schema.regions:
        arguments.append("RegionList(%s)" % ", ".join(
            "std::move(%s)" % region.name for region in schema.regions))
    create = "CreateOne" if schema.num_results == 1 else "Create"
    return lines + [_build_signature(name, schema, False, op_parameter) + " {",
                    "  return maker.%s(%s);" % (create, ", ".join(arguments)),
                    "}",
                    ""]


# --- Shared views.


def _common_prefix(lists):
    prefix = []
    for row in zip(*lists):
        if any(argument._replace(default=None) != row[0]._replace(default=None)
               for argument in row):
            break
        prefix.append(row[0])
    return prefix


def _join_shared_view(name, parts, definitions):
    ops = sorted(op for part in parts for op in part.ops)
    first = parts[0]
    if len(set(ops)) != len(ops) or len(ops) < 2:
        raise DefinitionError(first.path, first.line, "%s must list two ops or more, once each" %
                              name)
    if {family_of(definitions[op].path) for op in ops} != {family_of(first.path)}:
        raise DefinitionError(first.path, first.line, "the ops of %s are in several families" %
                              name)
    schemas = [definitions[op].schema for op in ops]
    operands = _common_prefix([schema.operands for schema in schemas])
    attributes = _common_prefix([schema.attributes for schema in schemas])
    if not operands and not attributes:
        raise DefinitionError(first.path, first.line, "the ops of %s have no argument in common" %
                              name)
    alike = all(schema[1:] == schemas[0][1:] for schema in schemas)
    return SharedView(name, ops, operands, attributes, schemas[0] if alike else None)


def join_shared_views(views, definitions):
    """The views by family. Those of one name are one; a view has the operands and the
    attributes that the lists of all its ops begin with."""
    parts = collections.defaultdict(list)
    for view in views:
        parts[view.name].append(view)
    families = collections.defaultdict(list)
    for name in sorted(parts):
        families[family_of(parts[name][0].path)].append(
            _join_shared_view(name, parts[name], definitions))
    return families


# --- Files.


def ops_header(definitions):
    guard = "WEFT_GRAPH_OPS_OPS_H_"
    return [_BANNER,
            "#ifndef " + guard,
            "#define " + guard,
            "",
            '#include "graph/ir/builtin_ops.h"',
            "",
            "namespace weft::ops {",
            "",
            *("extern const OpDef %s;" % name for name in definitions),
            "",
            "}  // namespace weft::ops",
            "",
            "#endif  // " + guard]


def registry(definitions):
    return [_BANNER,
            '#include "graph/ops/registry.h"',
            "",
            '#include "graph/ir/op_registry.h"',
            '#include "graph/ops/ops.h"',
            "",
            "namespace weft::ops {",
            "namespace {",
            "",
            "const OpDef* const kOps[] = {",
            "    &constant,",
            "    &return_,",
            *("    &%s," % name for name in definitions),
            "};",
            "",
            "}  // namespace",
            "",
            "const OpRegistry& Registry() {",
            "  static const OpRegistry* const registry = [] {",
            "    auto* r = new OpRegistry;",
            "    for (const OpDef* op : kOps) r->Register(op);",
            "    return r;",
            "  }();",
            "  return *registry;",
            "}",
            "",
            "}  // namespace weft::ops"]


def family_header(family, definitions, views):
    guard = "WEFT_GRAPH_OPS_%s_H_" % family.upper()
    lines = [_BANNER,
             "//",
             "// For each op: a view of its nodes (graph/ir/node_view.h); one of its attributes",
             "// without a node (graph/ir/attr_view.h); its attributes as a list; and a function",
             "// that makes a node through a Builder or whatever else is a NodeMaker. It returns",
             "// the result, or all where there are several; after an error null, or none.",
             "#ifndef " + guard,
             "#define " + guard,
             "",
             "#include <cstdint>",
             "#include <memory>",
             "#include <optional>",
             "#include <string>",
             "#include <vector>",
             "",
             '#include "absl/strings/string_view.h"',
             '#include "absl/types/span.h"',
             '#include "graph/ir/attr_view.h"',
             '#include "graph/ir/node_view.h"',
             '#include "graph/sym/sym_int.h"',
             '#include "graph/tensor/dtype.h"',
             "",
             "namespace weft {",
             "class AttrList;",
             "class Attrs;",
             "class Builder;",
             "class NodeMaker;",
             "}  // namespace weft",
             "",
             "namespace weft::ops {",
             ""]
    for definition in definitions:
        lines += ["// " + definition.schema.text,
                  "extern const OpDef %s;" % definition.name,
                  *_view(definition),
                  *_declarations(camel(definition.name), definition.schema),
                  ""]
    for view in views:
        lines += _shared_view(view) + [""]
    return lines + ["}  // namespace weft::ops", "", "#endif  // " + guard]


def family_source(family, definitions, views):
    lines = [_BANNER,
             '#include "graph/ops/%s.h"' % family,
             "",
             "#include <utility>",
             "",
             '#include "graph/ir/attr.h"',
             '#include "graph/ir/builder.h"',
             '#include "graph/ir/graph.h"',
             '#include "graph/ops/support/generated.h"',
             "",
             "namespace weft::ops {",
             ""]
    for definition in definitions:
        lines += _definitions(
            camel(definition.name), definition.schema, "ops::" + definition.name)
    for view in views:
        tests = " || ".join("&op == &ops::%s" % op for op in view.ops)
        lines += ["bool Is%s(const OpDef& op) { return %s; }" % (view.name, tests), ""]
        if view.schema:
            lines += _definitions(view.name, view.schema, "op", "const OpDef& op")
    return lines + ["}  // namespace weft::ops"]


def signatures(definitions):
    """A line for each op, for the test that compares the parsers."""
    def describe(argument):
        return "%s%s%s %s" % (argument.kind, "[]" if argument.variadic else "",
                              "?" if argument.optional else "", argument.name)
    return ["%s(%s) -> %s" % (
        definition.name,
        ", ".join(describe(argument) for argument in definition.schema.operands +
                  definition.schema.attributes + definition.schema.regions),
        "list" if definition.schema.num_results is None else definition.schema.num_results)
            for definition in definitions.values()]
