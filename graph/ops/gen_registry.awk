# Generates the table of ops from their definitions.
#
#   awk -v form=header|registry -f gen_registry.awk FILE...
#
# A definition is a line that begins with `WEFT_DEFINE_OP(name,` (the name may
# stand on the next line), or, where the name is a C++ keyword, with
# `const OpDef name_(`. Fails on a name that is defined twice and on a definition
# that is indented.

function fail(message) {
  print FILENAME ":" FNR ": " message > "/dev/stderr"
  failed = 1
  exit 1
}

/^[ \t]+WEFT_DEFINE_OP\(/ {
  fail("WEFT_DEFINE_OP must begin its line")
}

/^WEFT_DEFINE_OP\($/ {
  open = 1
  next
}

open || /^WEFT_DEFINE_OP\(/ || /^const OpDef [a-z][a-z0-9_]*_\(/ {
  name = $0
  open = 0
  sub(/^ +/, "", name)
  sub(/^WEFT_DEFINE_OP\(/, "", name)
  sub(/^const OpDef /, "", name)
  if (!match(name, /^[a-z_][a-z0-9_]*/)) {
    fail("the op's name must follow WEFT_DEFINE_OP(")
  }
  name = substr(name, 1, RLENGTH)
  if (name in where) fail("op " name " is also defined in " where[name])
  where[name] = FILENAME
  # Insertion sort: awk has none, and the order of `in` is not defined.
  for (i = ++count; i > 1 && sorted[i - 1] > name; --i) sorted[i] = sorted[i - 1]
  sorted[i] = name
}

END {
  if (failed) exit 1
  if (form == "header") {
    print "// Generated from the definitions in graph/ops. Do not edit."
    print "#ifndef WEFT_GRAPH_OPS_OPS_H_"
    print "#define WEFT_GRAPH_OPS_OPS_H_"
    print ""
    print "#include \"graph/ir/builtin_ops.h\""
    print ""
    print "namespace weft::ops {"
    print ""
    for (i = 1; i <= count; ++i) print "extern const OpDef " sorted[i] ";"
    print ""
    print "}  // namespace weft::ops"
    print ""
    print "#endif  // WEFT_GRAPH_OPS_OPS_H_"
  } else {
    print "// Generated from the definitions in graph/ops. Do not edit."
    print "#include \"graph/ops/registry.h\""
    print ""
    print "#include \"graph/ir/op_registry.h\""
    print "#include \"graph/ops/ops.h\""
    print ""
    print "namespace weft::ops {"
    print "namespace {"
    print ""
    print "const OpDef* const kOps[] = {"
    print "    &constant,"
    print "    &return_,"
    for (i = 1; i <= count; ++i) print "    &" sorted[i] ","
    print "};"
    print ""
    print "}  // namespace"
    print ""
    print "const OpRegistry& Registry() {"
    print "  static const OpRegistry* const registry = [] {"
    print "    auto* r = new OpRegistry;"
    print "    for (const OpDef* op : kOps) r->Register(op);"
    print "    return r;"
    print "  }();"
    print "  return *registry;"
    print "}"
    print ""
    print "}  // namespace weft::ops"
  }
}
