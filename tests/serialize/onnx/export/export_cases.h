// Modules to export, with inputs: the samples of every op, one node each, and
// written graphs.
#ifndef WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_CASES_H_
#define WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_CASES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {

class OpDef;

struct ExportCase {
  std::string name;
  std::unique_ptr<Module> module;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;  // On the reference.
};

// The valid samples of `op`, with its operands as inputs.
absl::StatusOr<std::vector<ExportCase>> SampleCases(const OpDef& op);
// The same with symbols for all sizes above 1, where the op takes them so.
absl::StatusOr<std::vector<ExportCase>> SymbolicSampleCases(const OpDef& op);
// A module in the text form; the inputs' symbols have the sizes 3, 4, ... in
// order of appearance.
absl::StatusOr<ExportCase> TextCase(const std::string& name, const std::string& text);

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_ONNX_EXPORT_EXPORT_CASES_H_
