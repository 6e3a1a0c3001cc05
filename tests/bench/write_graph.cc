// Writes one generated graph as Weft's text and as MLIR's, for comparing the two
// on equal work (tests/bench/against_mlir.py):
//
//   write_graph NODES FILE.weft FILE.mlir
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "tests/bench/generated_graph.h"

namespace weft {
namespace {

constexpr char kTensor[] = "tensor<64x64xf32>";
constexpr char kScalar[] = "tensor<1x1xf32>";

std::string NameOf(const Value& value) {
  return value.is_input() ? absl::StrCat("%a", value.index())
                          : absl::StrCat("%", value.node()->id());
}

// A scalar constant has two dims of size 1: TOSA broadcasts equal ranks.
std::string TypeOf(const Value& value) { return value.type().rank() == 0 ? kScalar : kTensor; }

std::string Line(const Node& node) {
  const std::string name = absl::StrCat("  ", NameOf(*node.result()), " = ");
  if (node.Is(ops::constant)) {
    const double value = LiteralOf(node.result())->DoubleAt(0);
    return absl::StrCat(name, "\"tosa.const\"() {values = dense<", value, ".0> : ", kScalar,
                        "} : () -> ", kScalar, "\n");
  }
  const Value& x = *node.operand(0);
  if (node.Is(ops::permute)) {
    return absl::StrCat(name, "tosa.transpose ", NameOf(x), " {perms = array<i32: 1, 0>} : (",
                        kTensor, ") -> ", kTensor, "\n");
  }
  if (node.num_operands() == 1) {
    return absl::StrCat(name, "tosa.", node.op().name(), " ", NameOf(x), " : (", kTensor, ") -> ",
                        kTensor, "\n");
  }
  const Value& y = *node.operand(1);
  const bool mul = node.Is(ops::mul);
  return absl::StrCat(name, "tosa.", node.op().name(), " ", NameOf(x), ", ", NameOf(y),
                      mul ? ", %shift" : "", " : (", TypeOf(x), ", ", TypeOf(y),
                      mul ? ", tensor<1xi8>" : "", ") -> ", kTensor, "\n");
}

void WriteMlir(const Graph& graph, std::ostream& out) {
  out << "func.func @main(";
  for (int i = 0; i < graph.num_inputs(); ++i) {
    out << (i > 0 ? ", " : "") << "%a" << i << ": " << kTensor;
  }
  out << ") -> (";
  for (int i = 0; i < graph.num_outputs(); ++i) {
    out << (i > 0 ? ", " : "") << kTensor;
  }
  out << ") {\n  %shift = \"tosa.const\"() {values = dense<0> : tensor<1xi8>} : "
         "() -> tensor<1xi8>\n";
  for (const Node* node : graph.nodes()) out << Line(*node);
  out << "  return ";
  for (int i = 0; i < graph.num_outputs(); ++i) {
    out << (i > 0 ? ", " : "") << NameOf(*graph.output(i));
  }
  out << " : ";
  for (int i = 0; i < graph.num_outputs(); ++i) {
    out << (i > 0 ? ", " : "") << kTensor;
  }
  out << "\n}\n";
}

int Main(int argc, char** argv) {
  if (argc != 4 || std::atoll(argv[1]) <= 0) {
    std::cerr << "usage: write_graph NODES FILE.weft FILE.mlir\n";
    return 2;
  }
  const auto module = MakeModule(std::atoll(argv[1]), /*busy=*/true);
  std::ofstream weft(argv[2]), mlir(argv[3]);
  weft << PrintModule(*module);
  WriteMlir(*module->main(), mlir);
  weft.close();
  mlir.close();
  return weft && mlir ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc, argv); }
