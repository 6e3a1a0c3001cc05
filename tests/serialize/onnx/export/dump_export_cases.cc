// Writes the cases of export_cases.h as folders for check_with_onnxruntime.py:
//
//   bazel run //tests/serialize/onnx/export:dump_export_cases -- FOLDER [OPSET]
//
// Each folder holds model.onnx, input_N.npy, output_N.npy and name.txt. Cases
// without a form in the opset, and those with dtypes that NumPy lacks, are left
// out; the program says how many.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "serialize/npy/npy.h"
#include "serialize/onnx/export/export.h"
#include "tests/serialize/onnx/export/export_cases.h"

namespace weft {
namespace {

bool WriteTensors(const std::string& prefix, const std::vector<HostTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const absl::Status status = WriteNpy(absl::StrCat(prefix, i, ".npy"), tensors[i]);
    if (!status.ok()) return false;
  }
  return true;
}

bool Write(const std::string& folder, const ExportCase& c, int opset) {
  OnnxExportOptions options;
  options.opset = opset;
  std::filesystem::create_directories(folder);
  const absl::Status status = ExportOnnxFile(*c.module, folder + "/model.onnx", options);
  if (!status.ok()) {
    std::printf("%s: %s\n", c.name.c_str(), status.ToString().c_str());
  }
  const bool written = status.ok() && WriteTensors(folder + "/input_", c.inputs) &&
                       WriteTensors(folder + "/output_", c.outputs);
  if (!written) {
    std::filesystem::remove_all(folder);
    return false;
  }
  std::ofstream(folder + "/name.txt") << c.name << "\n";
  return true;
}

absl::StatusOr<std::vector<ExportCase>> AllCases(const OpDef& op) {
  WEFT_ASSIGN_OR_RETURN(std::vector<ExportCase> cases, SampleCases(op));
  WEFT_ASSIGN_OR_RETURN(std::vector<ExportCase> symbolic, SymbolicSampleCases(op));
  for (ExportCase& c : symbolic) cases.push_back(std::move(c));
  return cases;
}

int Main(const std::string& folder, int opset) {
  int written = 0;
  int left_out = 0;
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->schema().regions.empty() || op == &ops::constant || op == &ops::return_) {
      continue;
    }
    auto cases = AllCases(*op);
    if (!cases.ok()) {
      std::fprintf(stderr, "%s\n", cases.status().ToString().c_str());
      return 1;
    }
    for (size_t i = 0; i < cases->size(); ++i) {
      const bool done =
          Write(absl::StrCat(folder, "/", std::string(op->name()), ".", i), (*cases)[i], opset);
      ++(done ? written : left_out);
    }
  }
  std::printf("%d written, %d left out\n", written, left_out);
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dump_export_cases FOLDER [OPSET]\n");
    return 2;
  }
  return weft::Main(argv[1], argc > 2 ? std::atoi(argv[2]) : 17);
}
