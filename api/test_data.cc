#include "api/test_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

std::optional<DType> DTypeOf(const Value* value) {
  if (!value->type().is_tensor()) return std::nullopt;
  return value->type().dtype();
}

// A naming scheme of the files of a folder: PREFIX, number, extension.
struct Layout {
  const char* input;
  const char* output;
  const char* ending;
  // Files are numbered by the inputs of the caller, without state.
  bool user_inputs;
};
constexpr Layout kLayouts[] = {
    {"input_", "output_", ".pb", false},
    {"input_", "output_", ".npy", false},
    {"in_", "out_", ".npy", true},
};

struct Files {
  const Layout* layout = nullptr;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// The files PREFIX0, PREFIX1, ... of `names`. A gap is an error, because it would shift later
// files.
absl::StatusOr<std::vector<std::string>> Numbered(const std::string& folder,
                                                  const std::vector<std::string>& names,
                                                  absl::string_view prefix,
                                                  absl::string_view ending) {
  std::set<int64_t> numbers;
  for (absl::string_view name : names) {
    int64_t number;
    if (absl::ConsumePrefix(&name, prefix) && absl::ConsumeSuffix(&name, ending) && !name.empty() &&
        absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
        absl::SimpleAtoi(name, &number)) {
      numbers.insert(number);
    }
  }
  std::vector<std::string> paths;
  for (const int64_t number : numbers) {
    const size_t expected = paths.size();
    if (number != static_cast<int64_t>(expected)) {
      return absl::InvalidArgumentError(absl::StrCat(folder, " has ", prefix, number, ending,
                                                     " and no ", prefix, expected, ending));
    }
    paths.push_back(absl::StrCat(folder, "/", prefix, number, ending));
  }
  return paths;
}

// The files of the first naming scheme that the folder uses; at least one.
absl::StatusOr<Files> FindFiles(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder, " is not a folder"));
  }
  const std::vector<std::string> names = ListFolder(folder);
  for (const Layout& layout : kLayouts) {
    Files files;
    files.layout = &layout;
    WEFT_ASSIGN_OR_RETURN(files.inputs, Numbered(folder, names, layout.input, layout.ending));
    WEFT_ASSIGN_OR_RETURN(files.outputs, Numbered(folder, names, layout.output, layout.ending));
    if (!files.inputs.empty() || !files.outputs.empty()) return files;
  }
  return absl::NotFoundError(absl::StrCat(
      folder, " holds no inputs and outputs: input_0.pb, input_0.npy or in_0.npy, ..."));
}

}  // namespace

std::map<std::string, HostTensor> TestData::NamedInputs() const {
  std::map<std::string, HostTensor> named;
  for (size_t i = 0; i < inputs.size(); ++i) named[input_names[i]] = inputs[i];
  return named;
}

bool FileExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<std::string> ListFolder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<TestData> LoadTestData(const std::string& folder, const Graph& signature) {
  WEFT_ASSIGN_OR_RETURN(const Files files, FindFiles(folder));
  TestData data;
  int next = 0;
  for (const std::string& path : files.inputs) {
    while (files.layout->user_inputs && next < signature.num_inputs() &&
           !signature.input_info(next).param.empty()) {
      ++next;
    }
    if (next >= signature.num_inputs()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the program has ", data.inputs.size(), " inputs"));
    }
    WEFT_ASSIGN_OR_RETURN(HostTensor tensor, LoadTensor(path, DTypeOf(signature.input(next))));
    data.inputs.push_back(std::move(tensor));
    data.input_names.push_back(signature.input_info(next++).name);
  }
  for (const std::string& path : files.outputs) {
    const int i = static_cast<int>(data.outputs.size());
    if (i >= signature.num_outputs()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the program has ", signature.num_outputs(), " outputs"));
    }
    WEFT_ASSIGN_OR_RETURN(HostTensor tensor, LoadTensor(path, DTypeOf(signature.output(i))));
    data.outputs.push_back(std::move(tensor));
  }
  return data;
}

absl::StatusOr<std::vector<HostTensor>> LoadTestInputs(const std::string& folder) {
  WEFT_ASSIGN_OR_RETURN(const Files files, FindFiles(folder));
  std::vector<HostTensor> inputs;
  for (const std::string& path : files.inputs) {
    WEFT_ASSIGN_OR_RETURN(HostTensor tensor, LoadTensor(path));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

absl::StatusOr<Tolerance> LoadTolerance(const std::string& case_folder, Tolerance defaults) {
  std::ifstream file(absl::StrCat(case_folder, "/data.json"));
  if (!file) return defaults;
  const auto json = nlohmann::json::parse(file, /*cb=*/nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(case_folder, "/data.json is not a JSON object"));
  }
  for (auto [key, target] :
       {std::make_pair("rtol", &defaults.rtol), std::make_pair("atol", &defaults.atol)}) {
    auto it = json.find(key);
    if (it == json.end()) continue;
    if (!it->is_number() || !(it->get<double>() >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(case_folder, "/data.json: ", key, " must be a number of at least 0"));
    }
    *target = it->get<double>();
  }
  return defaults;
}

}  // namespace weft
