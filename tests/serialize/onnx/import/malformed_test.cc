// Bad input: each gets a status that names the place.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kRelu[] = "g (float[2] X) => (float[2] Y) { Y = Relu(X) }";

std::string ImportBytes(const std::string& bytes, const OnnxImportOptions& options = {}) {
  return ImportOnnxBytes(bytes, "", options).status().ToString();
}

TEST(MalformedTest, EveryPrefixIsRefused) {
  const std::string bytes = ParseOnnxText(kRelu).SerializeAsString();
  EXPECT_EQ(ImportBytes(bytes), "OK");
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto status = ImportOnnxBytes(bytes.substr(0, n), "").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << n << ": " << status;
  }
  EXPECT_THAT(ImportBytes(bytes.substr(0, bytes.size() - 1)),
              AllOf(HasSubstr("not an ONNX model: truncated or malformed"),
                    HasSubstr(absl::StrCat("of ", bytes.size() - 1))));
}

TEST(MalformedTest, MissingFileIsNamed) {
  const auto status = ImportOnnx("/nonexistent/model.onnx").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("/nonexistent/model.onnx"));
}

TEST(MalformedTest, Header) {
  auto model = ParseOnnxText(kRelu);
  model.clear_opset_import();
  EXPECT_EQ(ImportToText(model), "INVALID_ARGUMENT: the model imports no opset (IR version 8)");
  model = ParseOnnxText(kRelu, 999);
  EXPECT_THAT(ImportToText(model), HasSubstr("UNIMPLEMENTED: opset 999 of ai.onnx is newer"));
  model = ParseOnnxText(kRelu);
  model.clear_graph();
  EXPECT_EQ(ImportToText(model), "INVALID_ARGUMENT: the model has no graph");
  // A newer format whose operators are known is read.
  model = ParseOnnxText(kRelu);
  model.set_ir_version(99);
  EXPECT_THAT(ImportToText(model), HasSubstr("relu(%X)"));
}

TEST(MalformedTest, CyclesAreNamed) {
  EXPECT_EQ(ImportToText(R"(
g (float[2] X) => (float[2] Y) {
  A = Add(X, C)
  B = Relu(A)
  C = Neg(B)
  Y = Abs(C)
})"),
            "INVALID_ARGUMENT: the graph has a cycle through nodes 'B', 'C', "
            "'A'");
}

TEST(MalformedTest, Names) {
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y = Relu(Z) }"),
            "INVALID_ARGUMENT: Relu node 'Y': 'Z' is not defined anywhere");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Q) { Y = Relu(X) }"),
            "INVALID_ARGUMENT: output 'Q' of graph 'g': 'Q' is not defined "
            "anywhere");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y = Relu(X)\n Y = Abs(X) }"),
            "INVALID_ARGUMENT: value 'Y' is defined twice: by Relu node 'Y' "
            "and by Abs node 'Y'");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] X) { X = Relu(X) }"),
            "INVALID_ARGUMENT: the graph has a cycle through nodes 'X'");
}

TEST(MalformedTest, TypesAndAttributes) {
  EXPECT_THAT(ImportToText("g (float[2] X, int64[2] Z) => (float[2] Y) { Y = Add(X, Z) }"),
              StartsWith("INVALID_ARGUMENT: Add node 'Y': add: operands have "
                         "different dtypes: f32 and i64"));
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y = Relu <alpha = 1.0> (X) }"),
            "INVALID_ARGUMENT: Relu node 'Y': attribute \"alpha\" is not one "
            "of Relu in opset 17");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y = Elu <alpha = \"a\"> (X) }"),
            "INVALID_ARGUMENT: Elu node 'Y': attribute \"alpha\" is STRING, not "
            "FLOAT");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y = Add(X) }"),
            "INVALID_ARGUMENT: Add node 'Y': input 1 is missing");
  EXPECT_EQ(ImportToText("g (float[2] X) => (int64[2] Y) { Y = Relu(X) }"),
            "INVALID_ARGUMENT: output 'Y' is declared as INT64, but the graph "
            "computes f32[2]");
  EXPECT_EQ(ImportToText("g (float[2] X) => (float[2] Y) { Y, Q = Relu(X) }"),
            "INVALID_ARGUMENT: Relu node 'Y': Relu has no output 1 ('Q') in "
            "opset 17");
}

TEST(MalformedTest, UnknownOperatorsAreListedTogether) {
  const std::string text = ImportToText(R"(
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (bool c, float[2] X) => (float[2] Y) {
  A = com.acme.Fuse(X)
  B = com.acme.Fuse(A)
  C = Mystery(B)
  D = org.none.Op(C)
  E = RandomNormalLike(D)
  F = Swish(E)
  Y = If (c) <
    then_branch = t () => (float[2] a) { a = com.acme.Inner(X) },
    else_branch = e () => (float[2] b) { b = Relu(X) }>
})");
  EXPECT_EQ(text, R"(UNIMPLEMENTED: 6 operators of the model cannot be imported:
  com.acme::Fuse (no registered op has this name): nodes 'A', 'B'
  Mystery: node 'C'
  org.none::Op (no opset of its domain is imported): node 'D'
  RandomNormalLike (random numbers cannot be reproduced): node 'E'
  Swish (not in opset 17): node 'F'
  com.acme::Inner (no registered op has this name): node 'a')");
}

TEST(MalformedTest, Functions) {
  EXPECT_EQ(ImportToText(R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] X) => (float[N] Y) { Y = local.f(X) }
<domain: "local", opset_import: ["" : 17, "local" : 1]>
f (x) => (y) { y = local.h(x) }
<domain: "local", opset_import: ["" : 17, "local" : 1]>
h (x) => (y) { y = local.f(x) })"),
            "INVALID_ARGUMENT: local::f node 'Y': local::h node 'y': local::f "
            "node 'y': a function calls itself: local::f -> local::h -> "
            "local::f");
}

// Functions that call the next one twice: 2^40 nodes.
TEST(MalformedTest, ExplodingFunctionsAreStopped) {
  std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] X) => (float[N] Y) { Y = local.f0(X) }
)";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]>\n", "f",
                    i, " (x) => (y) {\n t = local.f", i + 1, "(x)\n y = local.f", i + 1,
                    "(t)\n}\n");
  }
  absl::StrAppend(&text, "<domain: \"local\", opset_import: [\"\" : 17]>\n",
                  "f40 (x) => (y) { y = Abs(x) }\n");
  OnnxImportOptions options;
  options.max_nodes = 1000;
  EXPECT_THAT(ImportToText(ParseOnnxText(text), options),
              AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("more than 1000 nodes")));
}

// Functions that call the next one ten times: 10^`depth` nodes.
::onnx::ModelProto Laughs(int depth) {
  const std::string imports = "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]>\n";
  std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] X) => (float[N] Y) { Y = local.laugh0(X) }
)";
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&text, imports, "laugh", i, " (x) => (y) {\n t0 = local.laugh", i + 1, "(x)\n");
    for (int k = 1; k < 9; ++k) {
      absl::StrAppend(&text, " t", k, " = local.laugh", i + 1, "(t", k - 1, ")\n");
    }
    absl::StrAppend(&text, " y = local.laugh", i + 1, "(t8)\n}\n");
  }
  absl::StrAppend(&text, imports, "laugh", depth, " (x) => (y) { y = Abs(x) }\n");
  return ParseOnnxText(text);
}

// By default too, as many nodes as the file's size allows are made.
TEST(MalformedTest, InlinedNodesAreBoundedByTheFile) {
  EXPECT_THAT(ImportToText(Laughs(2)), HasSubstr("abs("));
  for (int depth : {6, 12}) {
    EXPECT_THAT(ImportToText(Laughs(depth)),
                AllOf(StartsWith("RESOURCE_EXHAUSTED"), HasSubstr("more than 262144 nodes"),
                      HasSubstr("function local::laugh")));
  }
}

// A name of a call is not repeated in full in each node that is inlined.
TEST(MalformedTest, LongNamesOfCallsAreCut) {
  auto model = Laughs(2);
  model.mutable_graph()->mutable_node(0)->set_name(std::string(5000, 'n'));
  const auto module = ImportOnnxBytes(model.SerializeAsString(), "");
  ASSERT_TRUE(module.ok()) << module.status();
  const Node* node = (*module)->main()->first_node();
  const auto names = (*module)->provenance().Names(node->provenance(), /*limit=*/1);
  ASSERT_EQ(names.size(), 1u);
  const std::string name(names[0]);
  EXPECT_THAT(name, HasSubstr("nnn..."));
  EXPECT_LT(name.size(), 1100u);
}

TEST(MalformedTest, RanksAreBounded) {
  const auto model_of = [](int rank) {
    auto model = ParseOnnxText("g (float[1] X) => (float[1] Y) { Y = Unsqueeze(X, axes) }");
    auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
    shape->mutable_shape()->clear_dim();
    for (int i = 0; i < rank; ++i) shape->mutable_shape()->add_dim()->set_dim_value(1);
    model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    auto* axes = model.mutable_graph()->add_initializer();
    axes->set_name("axes");
    axes->set_data_type(::onnx::TensorProto::INT64);
    axes->add_dims(1);
    axes->add_int64_data(0);
    return model;
  };
  EXPECT_THAT(ImportToText(model_of(63)), HasSubstr("func @main"));
  EXPECT_THAT(ImportToText(model_of(64)),
              AllOf(HasSubstr("Unsqueeze node 'Y'"), HasSubstr("65 dims; the limit is 64")));
  EXPECT_EQ(ImportToText(model_of(65)),
            "INVALID_ARGUMENT: input 'X': it has 65 dims; the limit is 64");
  auto model = ParseOnnxText("g (float[1] X) => (float[1] Y) { Y = Add(X, W) }");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("W");
  w->set_data_type(::onnx::TensorProto::FLOAT);
  for (int i = 0; i < 70; ++i) w->add_dims(1);
  w->add_float_data(1);
  EXPECT_THAT(ImportToText(model), HasSubstr("initializer 'W': it has 70 dims; the limit is 64"));
}

// `depth` graphs in each other, around garbage.
std::string Nested(int depth) {
  // Built from the inside: the lengths stand in front.
  std::string bytes = ParseOnnxText(kRelu).SerializeAsString();
  std::vector<std::string> prefixes;
  size_t size = 0;
  const auto wrap = [&](int number) {
    std::string head(1, static_cast<char>(number << 3 | 2));
    for (size_t n = size;; n >>= 7) {
      head += static_cast<char>(n < 128 ? n : (n & 127) | 128);
      if (n < 128) break;
    }
    size += head.size();
    prefixes.push_back(std::move(head));
  };
  for (int i = 0; i < depth; ++i) {
    wrap(6);  // AttributeProto.g
    wrap(5);  // NodeProto.attribute
    wrap(1);  // GraphProto.node
  }
  wrap(7);  // ModelProto.graph
  for (auto it = prefixes.rbegin(); it != prefixes.rend(); ++it) bytes += *it;
  return bytes;
}

TEST(MalformedTest, DeepNesting) {
  for (int depth : {120, 1000, 100000}) {
    EXPECT_THAT(ImportBytes(Nested(depth)),
                StartsWith("INVALID_ARGUMENT: graphs are nested more than 100 "
                           "deep (at byte "))
        << depth;
  }
}

TEST(MalformedTest, NestingWithinTheLimitIsRead) {
  std::string text = "a0 = Relu(X)";
  for (int i = 1; i <= 90; ++i) {
    text = absl::StrCat("a", i, " = If (c) <then_branch = t", i, " () => (float[2] a", i - 1,
                        ") { ", text, " }, else_branch = e", i, " () => (float[2] b", i, ") { b", i,
                        " = Neg(X) }>");
  }
  const std::string model = absl::StrCat("g (bool c, float[2] X) => (float[2] a90) { ", text, " }");
  EXPECT_THAT(ImportToText(model), HasSubstr("relu("));
  OnnxImportOptions options;
  options.max_nesting = 80;
  EXPECT_THAT(ImportToText(model, 17, options), HasSubstr("nested more than 80 deep"));
}

TEST(MalformedTest, AbsurdTensors) {
  auto model = ParseOnnxText("g (float[2] X) => (float[2] Y) { Y = Add(X, W) }");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("W");
  w->set_data_type(::onnx::TensorProto::FLOAT);
  w->add_dims(int64_t{1} << 40);
  w->set_raw_data("1234");
  EXPECT_EQ(ImportToText(model),
            "INVALID_ARGUMENT: Add node 'Y': initializer 'W': f32"
            "[1099511627776] needs 4398046511104 bytes, but there are 4");
  w->add_dims(int64_t{1} << 40);
  EXPECT_EQ(ImportToText(model),
            "INVALID_ARGUMENT: Add node 'Y': initializer 'W': its dims "
            "[1099511627776, 1099511627776] are not a tensor's");
  w->clear_dims();
  w->add_dims(-1);
  EXPECT_THAT(ImportToText(model), HasSubstr("its dims [-1] are not"));
  w->clear_dims();
  w->add_dims(1);
  w->set_data_type(::onnx::TensorProto::STRING);
  EXPECT_EQ(ImportToText(model),
            "UNIMPLEMENTED: Add node 'Y': initializer 'W': element type "
            "STRING is not supported");
  w->set_data_type(77);
  EXPECT_THAT(ImportToText(model), HasSubstr("data type 77 is not an element type of ONNX"));
}

TEST(MalformedTest, Inputs) {
  auto model = ParseOnnxText(kRelu);
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(ImportToText(model),
            "INVALID_ARGUMENT: input 'X': it declares no shape; pass a value, "
            "whose rank it then has");
  OnnxImportOptions options;
  options.input_values["X"] = HostTensor::FromDoubles(DType::kF32, {1, 2}, {1, 2});
  EXPECT_THAT(ImportToText(model, options), HasSubstr("%X: f32[s0, s1]"));
  options.input_values["X"] = HostTensor::FromInts(DType::kI64, {2}, {1, 2});
  EXPECT_EQ(ImportToText(ParseOnnxText(kRelu), options),
            "INVALID_ARGUMENT: input 'X' is f32[2], but the value given for it "
            "is i64[2]");
  type->mutable_sequence_type();
  EXPECT_THAT(ImportToText(model),
              HasSubstr("UNIMPLEMENTED: input 'X': only tensors are supported"));
}

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / absl::StrCat("onnx_external_", getpid());
    fs::create_directories(root_ / "model" / "data");
    std::ofstream(root_ / "model" / "data" / "w.bin") << "abcdefghijkl";
    std::ofstream(root_ / "secret.bin") << "abcdefgh";
    fs::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Import(const std::string& location, int offset = -1, int length = -1) {
    auto model = ParseOnnxText("g (float[2] X) => (float[2] Y) { Y = Add(X, W) }");
    auto* w = model.mutable_graph()->add_initializer();
    w->set_name("W");
    w->set_data_type(::onnx::TensorProto::FLOAT);
    w->add_dims(2);
    w->set_data_location(::onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      auto* entry = w->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    if (offset >= 0) add("offset", absl::StrCat(offset));
    if (length >= 0) add("length", absl::StrCat(length));
    const fs::path path = root_ / "model" / "model.onnx";
    std::ofstream(path) << model.SerializeAsString();
    return ImportOnnx(path.string()).status().ToString();
  }

  fs::path root_;
};

TEST_F(ExternalDataTest, InsideTheFolderIsRead) {
  EXPECT_EQ(Import("data/w.bin"), "OK");
  EXPECT_EQ(Import("data/w.bin", 4, 8), "OK");
  EXPECT_EQ(Import("data/w.bin", 3), "OK");  // Not aligned.
}

TEST_F(ExternalDataTest, OutsideOfTheFolderIsRefused) {
  EXPECT_THAT(Import("../secret.bin"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("initializer 'W'"),
                    HasSubstr("\"../secret.bin\" leaves the model's folder")));
  EXPECT_THAT(Import("data/../../secret.bin"), HasSubstr("leaves the model's"));
  EXPECT_THAT(Import((root_ / "secret.bin").string()),
              HasSubstr("is not relative to the model's folder"));
  EXPECT_THAT(Import("link.bin"), HasSubstr("is a link that leaves the model's folder"));
  EXPECT_THAT(Import("C:\\secret.bin"), HasSubstr("is not relative"));
}

TEST_F(ExternalDataTest, TheFolderIsNoFile) {
  EXPECT_THAT(Import("."), HasSubstr("\".\" is the model's folder and not a file"));
}

TEST_F(ExternalDataTest, RangesAndFilesAreChecked) {
  EXPECT_THAT(Import("missing.bin"), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("\"missing.bin\"")));
  EXPECT_THAT(Import("data"), HasSubstr("is not a file, it is a folder"));
  EXPECT_THAT(Import("data/w.bin", 5),
              HasSubstr("has 12 bytes, but the tensor is at offset 5, 8 bytes "
                        "long"));
  EXPECT_THAT(Import("data/w.bin", 0, 12), HasSubstr("has 12 bytes, f32[2] needs 8"));
  EXPECT_THAT(Import("data/w.bin", 1 << 30), HasSubstr("at offset 1073741824"));
}

}  // namespace
}  // namespace weft
