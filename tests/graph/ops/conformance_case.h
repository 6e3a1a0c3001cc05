// What the files of conformance_checks.h share.
#ifndef WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CASE_H_
#define WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/tensor/tensor.h"
#include "tests/graph/ops/conformance_checks.h"

namespace weft {

using Tensors = std::vector<HostTensor>;
using TypeList = std::vector<Type>;

constexpr uint64_t kSeed = 20240229;

// A sample of the same op with other types.
Sample WithTypes(const Sample& sample, const TypeList& types);
std::string Show(const TypeList& types);
void ExpectExact(const Tensors& got, const Tensors& want, std::string what);

// A module that holds the op once, with some operands as constants.
struct OpModule {
  std::unique_ptr<Module> module;
  Graph* graph = nullptr;
  std::vector<Value*> operands;
  Tensors inputs;
  absl::Status status;
  std::vector<Value*> results;

  OpModule(const OpDef& op, const Tensors& tensors, const AttrList* attrs, bool fold,
           uint64_t constants, bool share = false)
      : module(std::make_unique<Module>(ops::Registry())), graph(module->AddFunction("main")) {
    Builder b(graph, nullptr, {fold});
    const OpSchema& schema = op.schema();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool symint = i < schema.operands.size() && schema.operands[i].symint;
      if (!tensors[i].valid()) {
        operands.push_back(nullptr);
      } else if (share && i > 0) {
        operands.push_back(operands[0]);
      } else if ((constants >> i & 1) && !symint) {
        operands.push_back(b.Constant(tensors[i]));
      } else {
        operands.push_back(graph->AddInput(TypeOfValue(tensors[i], symint)));
        inputs.push_back(tensors[i]);
      }
    }
    results = b.Create(op, operands, attrs);
    Finish(b);
  }

  // The op on its own result.
  void ApplyAgain(const OpDef& op, const AttrList* attrs, bool fold) {
    Builder b(graph, nullptr, {fold});
    results = b.Create(op, {results[0]}, attrs);
    Finish(b);
  }

 private:
  void Finish(const Builder& b) {
    status = b.status();
    if (status.ok()) graph->SetOutputs(results);
  }
};

}  // namespace weft

#endif  // WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CASE_H_
