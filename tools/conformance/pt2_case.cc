#include "tools/conformance/pt2_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/check/compare.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "api/test_data.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "nlohmann/json.hpp"
#include "tools/conformance/case_program.h"

namespace weft::tools {
namespace {

using Json = nlohmann::json;

CaseResult FromStatus(const absl::Status& status) {
  CaseResult result;
  result.outcome =
      status.code() == absl::StatusCode::kUnimplemented ? Outcome::kUnsupported : Outcome::kFailed;
  result.message = std::string(status.message());
  return result;
}

Json ReadMeta(const std::string& folder) {
  std::ifstream file(folder + "/meta.json");
  return Json::parse(file, nullptr, /*allow_exceptions=*/false);
}

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

const Json& Member(const Json& object, const char* key) {
  static const Json& none = *new Json(Json::array());
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

// Loads the tensor of a named file; bfloat16 is stored as u16.
absl::StatusOr<HostTensor> Load(const std::string& folder, const std::string& file,
                                const std::string& dtype) {
  auto tensor = LoadTensor(absl::StrCat(folder, "/", file));
  if (!tensor.ok() || dtype != "bfloat16" || tensor->dtype() != DType::kU16) {
    return tensor;
  }
  return HostTensor::View(tensor->Contiguous().buffer(), DType::kBF16, tensor->dims());
}

const char* DTypeToLoad(const HostTensor& like) {
  return like.dtype() == DType::kBF16 ? "bfloat16" : "";
}

double AbsMax(const HostTensor& tensor) {
  double most = 0;
  for (double v : tensor.ReadDoubles()) {
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  }
  return most;
}

// The way results are compared.
struct Rule {
  bool quantized = false;
  bool strict = false;
};

// The tolerances of torch.testing.assert_close.
CompareOptions StrictTolerance(DType dtype) {
  CompareOptions compare;
  compare.rtol = 1e-3;
  compare.atol = 1e-5;
  if (dtype == DType::kBF16) compare.rtol = 1.6e-2;
  if (dtype == DType::kF32) compare.rtol = 1.3e-6;
  if (dtype == DType::kF64) compare.rtol = compare.atol = 1e-7;
  return compare;
}

// The rule of the suite: 1e-4 relative, 1e-5 of the largest value; 1e-2 for 16-bit floats; one
// quantum for quantised programs.
absl::Status CompareBy(const HostTensor& got_any, const HostTensor& want_any, const Rule& rule) {
  const HostTensor got = AsRealPairs(got_any);
  const HostTensor want = AsRealPairs(want_any);
  CompareOptions compare;
  compare.rtol = 0;
  compare.atol = 0;
  if (IsFloat(want.dtype()) && rule.strict) {
    compare = StrictTolerance(want.dtype());
  } else if (IsFloat(want.dtype())) {
    const bool narrow = DTypeBits(want.dtype()) < 32;
    compare.rtol = narrow ? 1e-2 : 1e-4;
    compare.atol = (narrow ? 1e-2 : 1e-5) * std::max(1.0, AbsMax(want));
    if (rule.quantized) compare.atol = std::max(compare.atol, 0.01);
  }
  return Compare(got, want, compare);
}

// Compares an output that is a number in the entry, without a file.
absl::Status CompareNumber(const HostTensor& got, const Json& entry) {
  const auto value = entry.find("value");
  if (value == entry.end() || !(value->is_number() || value->is_boolean())) {
    return absl::OkStatus();
  }
  if (got.numel() != 1 || IsComplex(got.dtype())) {
    return absl::FailedPreconditionError("is not one real number");
  }
  if (value->is_number_integer() && !IsFloat(got.dtype())) {
    // Doubles cannot distinguish large integers.
    const auto want = value->get<int64_t>();
    if (got.IntAt(0) == want) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("is ", got.IntAt(0), " instead of ", want));
  }
  const double want = value->is_boolean() ? (value->get<bool>() ? 1 : 0) : value->get<double>();
  const double have = got.DoubleAt(0);
  const double slack = value->is_number_float() ? 1e-4 * std::abs(want) : 0;
  if (std::abs(have - want) <= slack) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("is ", have, " instead of ", want));
}

// Loads the inputs of the program, except those that the signature adds: state and fixed values.
absl::StatusOr<std::vector<HostTensor>> Inputs(const Graph& main, const Json& data,
                                               const std::string& folder,
                                               std::vector<int>* graph_inputs) {
  std::vector<HostTensor> inputs(main.num_inputs());
  int next = 0;
  for (const Json& entry : Member(data, "inputs")) {
    graph_inputs->push_back(-1);
    const std::string kind = Text(entry, "kind");
    if (kind == "NoneType" || kind == "str") continue;
    while (next < main.num_inputs() && !main.input_info(next).param.empty()) {
      ++next;
    }
    if (next == main.num_inputs()) {
      return absl::InvalidArgumentError("the program has too few inputs");
    }
    graph_inputs->back() = next;
    const std::string file = Text(entry, "file");
    if (!file.empty()) {
      WEFT_ASSIGN_OR_RETURN(inputs[next], Load(folder, file, Text(entry, "dtype")));
    } else if (main.input_info(next).value < 0 && entry.contains("value") &&
               entry["value"].is_number_integer()) {
      inputs[next] = HostTensor::ScalarInt(DType::kI64, entry["value"].get<int64_t>());
    }
    ++next;
  }
  return inputs;
}

absl::Status CompareOutputs(const std::vector<HostTensor>& outputs, const Json& data,
                            const std::string& folder, const Rule& rule) {
  size_t next = 0;
  int i = 0;
  for (const Json& entry : Member(data, "outputs")) {
    const std::string where = absl::StrCat("output ", i++);
    const std::string kind = Text(entry, "kind");
    if (kind == "NoneType" || kind == "str") continue;
    if (next == outputs.size()) {
      return absl::FailedPreconditionError(absl::StrCat(where, " is missing"));
    }
    const HostTensor& got = outputs[next++];
    const std::string file = Text(entry, "file");
    if (file.empty()) {
      absl::Status status = CompareNumber(got, entry);
      if (!status.ok()) return Annotate(status, where);
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(auto want, Load(folder, file, Text(entry, "dtype")));
    absl::Status status = CompareBy(got, want, rule);
    if (!status.ok()) return Annotate(status, where);
  }
  if (next == outputs.size()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("there are ", outputs.size(), " outputs instead of ", next));
}

// Compares written values with "in_<i>_after.npy" and "buf_<name>_after.npy".
absl::Status CompareWritten(const CaseProgram& program, const std::vector<HostTensor>& inputs,
                            const std::vector<int>& graph_inputs, const std::string& folder,
                            const Rule& rule) {
  for (const std::string& file : ListFolder(folder)) {
    absl::string_view name = file;
    if (!absl::ConsumeSuffix(&name, "_after.npy")) continue;
    const HostTensor* got = nullptr;
    if (absl::ConsumePrefix(&name, "buf_")) {
      got = program.state(name);
    } else if (absl::ConsumePrefix(&name, "in_")) {
      const size_t i = static_cast<size_t>(std::atoi(std::string(name).c_str()));
      if (i < graph_inputs.size() && graph_inputs[i] >= 0) {
        got = &inputs[graph_inputs[i]];
      }
    }
    if (got == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("nothing is known of ", file));
    }
    WEFT_ASSIGN_OR_RETURN(auto want, Load(folder, file, DTypeToLoad(*got)));
    absl::Status status = CompareBy(*got, want, rule);
    if (!status.ok()) return Annotate(status, file);
  }
  return absl::OkStatus();
}

absl::Status RunData(CaseProgram& program, const Json& data, const std::string& folder,
                     const Rule& rule) {
  std::vector<int> graph_inputs;
  WEFT_ASSIGN_OR_RETURN(auto inputs, Inputs(program.main(), data, folder, &graph_inputs));
  WEFT_ASSIGN_OR_RETURN(auto outputs, program.Run(&inputs));
  WEFT_RETURN_IF_ERROR(CompareOutputs(outputs, data, folder, rule));
  return CompareWritten(program, inputs, graph_inputs, folder, rule);
}

}  // namespace

std::vector<Case> FindPt2Cases(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<Case> cases;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const Json meta = ReadMeta(entry.path().string());
    const std::string program = entry.path().filename().string();
    for (const char* archive : {"core", "model"}) {
      const std::string model = absl::StrCat(entry.path().string(), "/", archive, ".pt2");
      if (!fs::exists(model, error)) continue;
      for (const Json& data : Member(meta, "cases")) {
        Case c;
        c.data = Text(data, "dir");
        c.name = absl::StrCat(program, "/", archive, "/", c.data);
        c.folder = entry.path().string();
        c.model = model;
        cases.push_back(std::move(c));
      }
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

CaseResult RunPt2Case(const Case& c, const CaseOptions& options) {
  const Json meta = ReadMeta(c.folder);
  auto module = LoadModel(c.model);
  if (!module.ok()) return FromStatus(module.status());
  auto program = CaseProgram::Make(*std::move(module), options);
  if (!program.ok()) return FromStatus(program.status());
  const bool stateful = meta.contains("stateful_cases") && meta["stateful_cases"].is_boolean() &&
                        meta["stateful_cases"].get<bool>();
  const Rule rule = {absl::StrContains(c.name, "qdq"), options.strict};
  for (const Json& data : Member(meta, "cases")) {
    const std::string dir = Text(data, "dir");
    const bool last = dir == c.data;
    if (!last && !stateful) continue;
    absl::Status status = RunData(*program, data, absl::StrCat(c.folder, "/", dir), rule);
    if (!status.ok()) {
      return FromStatus(last ? status : Annotate(status, dir));
    }
    if (last) return {Outcome::kPassed, "", 0};
  }
  return {Outcome::kFailed, "meta.json does not list the case", 0};
}

}  // namespace weft::tools
