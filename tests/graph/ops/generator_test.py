#!/usr/bin/env python3
"""What graph/ops/gen makes of good and of malformed definitions of ops."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.abspath(__file__)
for _ in range(4):
    ROOT = os.path.dirname(ROOT)
sys.path.insert(0, os.path.join(ROOT, "graph", "ops", "gen"))
import definitions  # pylint: disable=wrong-import-position
import emit  # pylint: disable=wrong-import-position
import generate  # pylint: disable=wrong-import-position
import schema  # pylint: disable=wrong-import-position

NEG = 'WEFT_DEFINE_OP(neg, OpSpec("neg(Tensor self) -> Tensor", "-self."));\n'


def define(text, name=None):
    """A definition of the op that the schema names."""
    return 'WEFT_DEFINE_OP(%s, OpSpec("%s", "Doc."));\n' % (
        name or text.split("(")[0], text.replace('"', '\\"'))


def generated(text, path="graph/ops/family/x.cc"):
    return {name: "\n".join(lines) for name, lines in generate.generate([(path, text)]).items()}


class SchemaTest(unittest.TestCase):
    def test_arguments(self):
        parsed = schema.parse_schema(
            'f(Tensor(a!) self, Tensor? weight, Tensor[] rest, *, int dim=-1, SymInt[] size=[], '
            'float? scale=None, str mode="a, b", ScalarType dtype=f32, Graph body) -> Tensor(a!)')
        self.assertEqual([a.name for a in parsed.operands], ["self", "weight", "rest"])
        self.assertEqual([a.optional for a in parsed.operands], [False, True, False])
        self.assertEqual([a.variadic for a in parsed.operands], [False, False, True])
        self.assertEqual([(a.kind, a.name, a.default) for a in parsed.attributes], [
            ("int", "dim", "-1"), ("SymInt[]", "size", "[]"), ("float", "scale", "None"),
            ("str", "mode", '"a, b"'), ("ScalarType", "dtype", "f32")])
        self.assertTrue(parsed.attributes[2].optional)
        self.assertEqual([a.name for a in parsed.regions], ["body"])

    def test_results(self):
        for text, count in [("Tensor", 1), ("()", 0), ("(Tensor values, Tensor indices)", 2),
                            ("SymInt", 1), ("Tensor(a)[]", None)]:
            self.assertEqual(schema.parse_schema("f() -> " + text).num_results, count, text)

    def test_malformed(self):
        for text, message in [
                ("f(Tensor self)", "name(arguments) -> results"),
                ("f(Tensor self) -> Tensr", '"Tensr" is not a result'),
                ("f(Tensor) -> Tensor", '"Tensor" needs a type and a name'),
                ("f(Tenser self) -> Tensor", "self has the unknown type Tenser"),
                ("f(int dim, Tensor self) -> Tensor", "self comes after attributes"),
                ("f(Graph body, int n) -> Tensor", "n comes after regions"),
                ("f(Tensor[] a, Tensor b) -> Tensor", "b comes after a list"),
                ("f(Tensor a, int a) -> Tensor", "two arguments have the name a"),
                ("f(int default) -> Tensor", 'the name "default"'),
                ("f(int maker) -> Tensor", 'the name "maker"'),
                ("f(int dim=1.5) -> Tensor", "1.5 cannot be the default of int dim"),
                ("f(bool on=1) -> Tensor", "1 cannot be the default of bool on"),
                ("f(int dim=None) -> Tensor", "dim is not optional"),
                ("f(str[] names=[a]) -> Tensor", "[a] cannot be the default"),
                ("f(Tensor? a=0) -> Tensor", "operand a can only be None")]:
            with self.assertRaises(schema.SchemaError, msg=text) as caught:
                schema.parse_schema(text)
            self.assertIn(message, str(caught.exception))


class DefinitionsTest(unittest.TestCase):
    def test_finds_schemas(self):
        text = (NEG +
                "WEFT_DEFINE_OP(\n    exp,  // exp(not this)\n    Wrap(\"exp(Tensor \"\n"
                '         "self) -> Tensor", R"(\nexp(f32[2])\n)"));\n'
                'const OpDef if_("if", OpSpec("if(Tensor condition) -> Tensor", "Doc."));\n')
        ops, _ = definitions.read_sources([("x.cc", text)])
        self.assertEqual({name: op.schema.text for name, op in ops.items()}, {
            "neg": "neg(Tensor self) -> Tensor",
            "exp": "exp(Tensor self) -> Tensor",
            "if_": "if(Tensor condition) -> Tensor"})
        self.assertEqual([op.line for op in ops.values()], [2, 8, 1])

    def test_errors_name_file_and_line(self):
        for text, message in [
                ("\n  " + NEG, "x.cc:2: WEFT_DEFINE_OP must begin its line"),
                ("\n" + NEG + NEG, "x.cc:3: op neg is also defined in x.cc"),
                ("WEFT_DEFINE_OP(Neg, 0);", "x.cc:1: the op's name must follow WEFT_DEFINE_OP("),
                ("\n\n" + NEG.replace('"neg(', '"nge('), 'x.cc:3: op neg has no schema'),
                # The schema of the next op is not this one's.
                ('WEFT_DEFINE_OP(abs, OpSpec());\nabs("abs(Tensor self) -> Tensor");',
                 "x.cc:1: op abs has no schema"),
                ('WEFT_DEFINE_OP(neg,\n  OpSpec(\n    "neg(Tenser x) -> Tensor", ""));',
                 "x.cc:3: schema of neg: x has the unknown type Tenser"),
                (NEG + "WEFT_SHARED_VIEW(unary, neg);", "x.cc:2: expected WEFT_SHARED_VIEW(Name"),
                (NEG + "WEFT_SHARED_VIEW(Unary, nge);", "x.cc:2: no op has the name nge")]:
            with self.assertRaises(definitions.DefinitionError, msg=text) as caught:
                definitions.read_sources([("x.cc", text)])
            self.assertIn(message, str(caught.exception))


class EmitTest(unittest.TestCase):
    def test_names(self):
        self.assertEqual(emit.camel("native_layer_norm"), "NativeLayerNorm")
        self.assertEqual(emit.camel("copy_"), "CopyInPlace")
        self.assertEqual(emit.family_of("graph/ops/shape/slice.cc"), "shape")
        self.assertEqual(emit.family_of("/a/graph/ops/slice.cc"), "")

    def test_files(self):
        files = generated(define("b() -> Tensor") + define("a() -> Tensor"))
        self.assertEqual(sorted(files), [
            "family.cc", "family.h", "ops.h", "registry.cc", "signatures.txt"])
        self.assertIn("extern const OpDef a;\nextern const OpDef b;\n", files["ops.h"])
        self.assertIn("    &a,\n    &b,\n", files["registry.cc"])
        # An op outside of the families is declared and has no view.
        files = generated(define("a() -> Tensor"), "graph/ops/a.cc")
        self.assertEqual(sorted(files), ["ops.h", "registry.cc", "signatures.txt"])

    def test_view(self):
        header = generated(define("f(Tensor self, Tensor[] rest, int dim, SymInt? k, Graph body)"
                                  " -> Tensor"))["family.h"]
        for accessor in ["Value* self() const { return Operand(0); }",
                         "OperandRange rest() const { return Operands(1); }",
                         "int64_t dim() const { return Int(0); }",
                         "std::optional<SymInt> k() const { return OptionalSym(1); }",
                         "Graph* body() const { return Region(0); }"]:
            self.assertIn("  %s\n" % accessor, header)

    def test_view_of_attributes(self):
        header = generated(define("f(Tensor self, int dim, SymInt? k) -> Tensor") +
                           define("g(Tensor self, int dim) -> Tensor") +
                           define("h(Tensor self) -> Tensor") +
                           "WEFT_SHARED_VIEW(Both, f, g);\n")["family.h"]
        view = header.partition("class FAttrView : public AttrView {")[2].partition("};")[0]
        self.assertIn("  explicit FAttrView(const Attrs& attrs) : AttrView(attrs, {&ops::f}) {}\n"
                      "  int64_t dim() const { return Int(0); }\n"
                      "  std::optional<SymInt> k() const { return OptionalSym(1); }\n", view)
        self.assertNotIn("self", view)
        shared = header.partition("class BothAttrView : public AttrView {")[2].partition("};")[0]
        self.assertIn("AttrView(attrs, {&ops::f, &ops::g}) {}\n"
                      "  int64_t dim() const { return Int(0); }\n", shared)
        self.assertNotIn("k()", shared)
        self.assertNotIn("HAttrView", header)

    def test_builder(self):
        header = generated(define(
            'f(Tensor self, Tensor? other, bool on=True, str mode="a", int[] dims=[1, 2], '
            'ScalarType dtype=i64, float? scale=None) -> Tensor'))["family.h"]
        self.assertIn(
            "Value* BuildF(NodeMaker& maker, Value* self, Value* other = nullptr, bool on = true,"
            ' absl::string_view mode = "a", absl::Span<const int64_t> dims = {1, 2},'
            " DType dtype = DType::kI64, std::optional<double> scale = std::nullopt);", header)

    def test_no_default_before_a_required_parameter(self):
        files = generated(define("f(Tensor? self, int a=1, int b, int c=2) -> (Tensor, Tensor)"))
        self.assertIn("std::vector<Value*> BuildF(NodeMaker& maker, Value* self, int64_t a, "
                      "int64_t b, int64_t c = 2);", files["family.h"])
        self.assertIn("const AttrList* FAttrs(int64_t a, int64_t b, int64_t c = 2);",
                      files["family.h"])
        self.assertIn("  return AttrList::Get({AttrValue(a), AttrValue(b), AttrValue(c)});",
                      files["family.cc"])
        self.assertIn("  return maker.Create(ops::f, {self}, FAttrs(a, b, c));",
                      files["family.cc"])

    def test_builder_of_regions(self):
        files = generated(define("f(Tensor a, Tensor[] rest, Graph body) -> Tensor[]"))
        self.assertIn("BuildF(Builder& maker, Value* a, absl::Span<Value* const> rest, "
                      "std::unique_ptr<Graph> body);", files["family.h"])
        self.assertIn("maker.Create(ops::f, JoinOperands({a}, rest), AttrList::Empty(), "
                      "RegionList(std::move(body)));", files["family.cc"])

    def test_shared_view(self):
        ops = define("f(Tensor self, int a, int b=1) -> Tensor") + define(
            "g(Tensor self, int a, int c) -> Tensor") + define("h(Tensor x, int[] a) -> Tensor")
        files = generated(ops + "WEFT_SHARED_VIEW(Both, f);\nWEFT_SHARED_VIEW(Both, g);\n")
        shared = files["family.h"].partition("class BothView")[2]
        self.assertIn("int64_t a() const { return Int(0); }", shared)
        self.assertNotIn("Int(1)", shared)
        # The ops differ, so nothing builds either.
        self.assertNotIn("BuildBoth", shared)
        self.assertIn("IsBoth(const OpDef& op) { return &op == &ops::f || &op == &ops::g; }",
                      files["family.cc"])
        with self.assertRaises(definitions.DefinitionError) as caught:
            generated(ops + "WEFT_SHARED_VIEW(Both, f, h);\n")
        self.assertIn("x.cc:4: the ops of Both have no argument in common", str(caught.exception))

    def test_shared_builder(self):
        files = generated(define("f(Tensor self, int[] dim=[]) -> Tensor") +
                          define("g(Tensor self, int[] dim=[]) -> Tensor") +
                          "WEFT_SHARED_VIEW(Both, f, g);\n")
        self.assertIn("Value* BuildBoth(NodeMaker& maker, const OpDef& op, Value* self, "
                      "absl::Span<const int64_t> dim = {});", files["family.h"])


if __name__ == "__main__":
    unittest.main()
