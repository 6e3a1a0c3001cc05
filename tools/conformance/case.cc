#include "tools/conformance/case.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/check/compare.h"
#include "api/extensions.h"
#include "api/model_io.h"
#include "api/test_data.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "tools/conformance/case_program.h"
#include "tools/conformance/pt2_case.h"

namespace weft::tools {
namespace {

CaseResult Failed(absl::string_view message) { return {Outcome::kFailed, std::string(message), 0}; }

CaseResult FromStatus(const absl::Status& status) {
  CaseResult result = Failed(status.message());
  if (status.code() == absl::StatusCode::kUnimplemented) {
    result.outcome = Outcome::kUnsupported;
  }
  return result;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// These operators are ill-conditioned near zero: ONNX Runtime runs their cases with the same
// tolerances (onnx_backend_test_series_overrides.jsonc).
double DefaultAtol(const std::string& name, const CaseOptions& options) {
  if (options.strict) return options.atol;
  if (absl::StrContains(name, "test_dft")) return 1e-3;
  if (absl::StrContains(name, "test_stft")) return 1e-4;
  if (absl::StrContains(name, "test_attention") && absl::StrContains(name, "fp16")) {
    return 6e-4;
  }
  return options.atol;
}

// True for modules whose results may be off by one on rounding ties.
bool IsQuantized(const Module& module) {
  for (Graph* graph : module.AllGraphs()) {
    for (Node* node : graph->nodes()) {
      if (absl::StrContains(node->op().name(), "quantize")) return true;
    }
  }
  return false;
}

std::vector<std::string> DataSets(const Case& c) {
  std::vector<std::string> folders;
  for (const std::string& name : ListFolder(c.folder)) {
    if (absl::StartsWith(name, "test_data_set_")) {
      folders.push_back(absl::StrCat(c.folder, "/", name));
    }
  }
  return folders;
}

// For models that use the ops of the extensions.
LoadOptions LoadOptionsOf(const CaseOptions& options) {
  LoadOptions load;
  if (options.extensions != nullptr) load.ops = &options.extensions->ops();
  return load;
}

// Loads, compiles and runs the model on one data set.
CaseResult RunDataSet(const Case& c, const std::string& data_folder, const CaseOptions& options) {
  LoadOptions load = LoadOptionsOf(options);
  auto module = LoadModel(c.model, load);
  if (!module.ok() && module.status().code() != absl::StatusCode::kUnimplemented) {
    // Shapes may depend on the inputs' values, so the program is made for these.
    auto values = LoadTestInputs(data_folder);
    if (!values.ok()) return FromStatus(values.status());
    load.positional_values = *std::move(values);
    module = LoadModel(c.model, load);
  }
  if (!module.ok()) return FromStatus(module.status());
  const bool quantized = IsQuantized(**module);
  auto program = CaseProgram::Make(*std::move(module), options);
  if (!program.ok()) return FromStatus(program.status());
  auto data = LoadTestData(data_folder, program->main());
  if (!data.ok()) return FromStatus(data.status());
  auto outputs = program->Run(data->inputs);
  if (!outputs.ok()) return FromStatus(outputs.status());
  auto tolerance = LoadTolerance(c.folder, {options.rtol, DefaultAtol(c.name, options)});
  if (!tolerance.ok()) return FromStatus(tolerance.status());
  CompareOptions compare;
  compare.rtol = tolerance->rtol;
  compare.atol = tolerance->atol;
  compare.integer_slack = quantized ? 1 : 0;
  absl::Status status = CompareAll(*outputs, data->outputs, compare);
  if (!status.ok()) return Failed(status.message());
  return {Outcome::kPassed, "", 0};
}

// A light model has no inputs on disk: element i of n is i / n.
CaseResult RunLight(const Case& c, const CaseOptions& options) {
  auto module = LoadModel(c.model, LoadOptionsOf(options));
  if (!module.ok()) return FromStatus(module.status());
  auto program = CaseProgram::Make(*std::move(module), options);
  if (!program.ok()) return FromStatus(program.status());
  std::vector<HostTensor> inputs;
  for (Value* input : program->main().inputs()) {
    std::vector<int64_t> dims;
    for (SymInt d : input->type().dims()) dims.push_back(d.constant().value_or(1));
    HostTensor tensor(input->type().dtype(), dims);
    std::vector<double> values(tensor.numel());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(i) / static_cast<double>(values.size());
    }
    tensor.WriteDoubles(values);
    inputs.push_back(std::move(tensor));
  }
  auto outputs = program->Run(inputs);
  if (!outputs.ok()) return FromStatus(outputs.status());
  auto want = LoadTensor(absl::StrCat(c.model.substr(0, c.model.size() - 5), "_output_0.pb"));
  if (!want.ok()) return FromStatus(want.status());
  CompareOptions compare;
  compare.rtol = options.rtol;
  compare.atol = options.atol;
  absl::Status status = Compare((*outputs)[0], *want, compare);
  if (!status.ok()) return Failed(status.message());
  return {Outcome::kPassed, "", 0};
}

bool IsLight(const Case& c) {
  return !absl::EndsWith(c.model, "/model.onnx") && !absl::EndsWith(c.model, "/model.weft");
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kUnsupported:
      break;
  }
  return "unsupported";
}

std::vector<Case> FindCases(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<Case> cases;
  std::error_code error;
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    const fs::path at = folders.back();
    folders.pop_back();
    const std::string relative =
        at == fs::path(folder) ? BaseName(at.string()) : at.lexically_relative(folder).string();
    bool is_case = false;
    for (const char* model : {"model.onnx", "model.weft"}) {
      if (is_case || !fs::exists(at / model, error)) continue;
      cases.push_back({relative, at.string(), (at / model).string()});
      is_case = true;
    }
    if (is_case) continue;
    for (const auto& entry : fs::directory_iterator(at, error)) {
      if (entry.is_directory(error)) {
        folders.push_back(entry.path());
      } else if (entry.path().extension() == ".onnx") {
        const std::string model = entry.path().string();
        const std::string stem = model.substr(0, model.size() - 5);
        if (fs::exists(stem + "_output_0.pb", error)) {
          cases.push_back({BaseName(stem), at.string(), model});
        }
      }
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

CaseResult RunCase(const Case& c, const CaseOptions& options) {
  if (absl::StartsWith(BaseName(c.name), "REJECT_")) {
    auto module = LoadModel(c.model);
    return module.ok() ? Failed("the model must be refused and was loaded")
                       : CaseResult{Outcome::kPassed, "", 0};
  }
  if (absl::EndsWith(c.model, ".pt2")) return RunPt2Case(c, options);
  if (IsLight(c)) return RunLight(c, options);
  const std::vector<std::string> sets = DataSets(c);
  if (sets.empty()) return Failed("the case has no test_data_set_ folder");
  for (const std::string& folder : sets) {
    CaseResult result = RunDataSet(c, folder, options);
    if (result.outcome != Outcome::kPassed) {
      if (sets.size() > 1) {
        result.message = absl::StrCat(BaseName(folder), ": ", result.message);
      }
      return result;
    }
  }
  return {Outcome::kPassed, "", 0};
}

}  // namespace weft::tools
