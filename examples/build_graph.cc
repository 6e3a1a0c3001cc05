// Builds a graph, runs a pipeline on it and prints it before and after:
//
//   bazel run //examples:build_graph

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "api/compiler.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"

namespace {

// softmax(x w + x w) for any number of rows, with the product written twice.
absl::Status Run() {
  weft::Module module(weft::ops::Registry());
  weft::Graph* graph = module.AddFunction("main");
  const weft::SymInt rows = weft::SymInt::Symbol("rows");
  module.symbols().Declare({rows});
  weft::Value* x = graph->AddInput(weft::Type::Tensor(weft::DType::kF32, {rows, 8}), "x");
  weft::Value* w = graph->AddInput(weft::Type::Tensor(weft::DType::kF32, {8, 4}), "w");

  weft::Builder b(graph);
  weft::Value* first = b.Op(weft::ops::matmul, {x, w});
  weft::Value* again = b.Op(weft::ops::matmul, {x, w});
  weft::Value* sum = b.Op(weft::ops::add, {first, again});
  graph->SetOutputs({b.Op(weft::ops::softmax, {sum}, {{"dim", 1}})});
  if (!b.status().ok()) return b.status();
  std::printf("%s\n", weft::PrintModule(module).c_str());

  weft::CompileOptions options;
  options.passes = "cse,dce";
  options.verify = weft::VerifyLevel::kSemantics;
  const auto result = weft::Compile(module, options);
  if (!result.ok()) return result.status();
  std::printf("%s", weft::PrintModule(module).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
