// embed RULES: builds a graph, rewrites it with a pass and rules of this program,
// prints it before and after, reads it back and runs it.
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "square.h"
#include "weft/api/compiler.h"
#include "weft/api/extensions.h"
#include "weft/api/session.h"
#include "weft/base/status_macros.h"
#include "weft/graph/ir/builder.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/ir/module.h"
#include "weft/graph/ops/ops.h"
#include "weft/graph/sym/sym_facts.h"
#include "weft/graph/sym/sym_int.h"
#include "weft/graph/tensor/tensor.h"
#include "weft/graph/tensor/type.h"
#include "weft/graph/text/text.h"

namespace {

using weft::DType;
using weft::HostTensor;

// The squared distance of each row of `points` from `center`.
absl::Status BuildDistance(weft::Module& module) {
  const weft::SymInt rows = weft::SymInt::Symbol("rows");
  module.symbols().Declare({rows});
  weft::Graph* graph = module.AddFunction("main");
  weft::Value* points = graph->AddInput(weft::Type::Tensor(DType::kF32, {rows, 2}), "points");
  weft::Value* center = graph->AddInput(weft::Type::Tensor(DType::kF32, {2}), "center");

  weft::Builder b(graph);
  weft::Value* away = b.Op(weft::ops::abs, {b.Op(weft::ops::sub, {points, center})});
  weft::Value* squares = b.Op(weft::ops::mul, {away, away});
  graph->SetOutputs({b.Op(weft::ops::sum, {squares}, {{"dim", std::vector<int64_t>{1}}})});
  return b.status();
}

absl::Status Run(const std::string& rule_file) {
  weft::Extensions mine;
  WEFT_RETURN_IF_ERROR(mine.AddOp(&embed::square));
  WEFT_RETURN_IF_ERROR(mine.AddPass(embed::CreateFindSquaresPass));
  WEFT_RETURN_IF_ERROR(mine.AddPipeline(
      {"distances", "Squares first, then all that is built in.", "find_squares,default"}));
  WEFT_RETURN_IF_ERROR(mine.AddRuleFile(rule_file));

  weft::Module module(mine.ops());
  WEFT_RETURN_IF_ERROR(BuildDistance(module));
  std::cout << weft::PrintModule(module) << "\n";

  weft::CompileOptions options;
  options.passes = "distances";
  options.registry = &mine.passes();
  options.context.rules = mine.rules();
  options.verify = weft::VerifyLevel::kSemantics;
  WEFT_ASSIGN_OR_RETURN(const weft::CompileResult result, weft::Compile(module, options));
  const std::string text = weft::PrintModule(module);
  std::cout << text << "\n" << result.semantics.ToString() << "\n";

  // The printed text reads back, with the op of this program in it.
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<weft::Module> again, weft::ParseModule(text, mine.ops()));
  WEFT_ASSIGN_OR_RETURN(weft::Session session,
                        weft::Session::Create(std::move(again), "reference"));
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<HostTensor> distances,
      session.Run({HostTensor::FromDoubles(DType::kF32, {3, 2}, {1, 1, 4, 5, 0, 0}),
                   HostTensor::FromDoubles(DType::kF32, {2}, {1, 1})}));
  std::cout << "distances:";
  for (double distance : distances[0].ReadDoubles()) std::cout << " " << distance;
  std::cout << "\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed RULES\n";
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::cerr << "embed: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
