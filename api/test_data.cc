#include "api/test_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "api/model_io.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

std::optional<DType> DTypeOf(const Value* value) {
  if (!value->type().is_tensor()) return std::nullopt;
  return value->type().dtype();
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

absl::StatusOr<TestData> LoadTestData(const std::string& folder,
                                      const Graph& signature) {
  TestData data;
  for (int i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/input_", i, ".pb");
    if (!FileExists(path)) break;
    if (i >= signature.num_inputs()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the program has ", signature.num_inputs(),
                       " inputs"));
    }
    auto tensor = LoadTensor(path, DTypeOf(signature.input(i)));
    if (!tensor.ok()) return tensor.status();
    data.inputs.push_back(*std::move(tensor));
    data.input_names.push_back(signature.input_info(i).name);
  }
  for (int i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/output_", i, ".pb");
    if (!FileExists(path)) break;
    auto tensor = LoadTensor(
        path, i < signature.num_outputs() ? DTypeOf(signature.output(i))
                                          : std::nullopt);
    if (!tensor.ok()) return tensor.status();
    data.outputs.push_back(*std::move(tensor));
  }
  return data;
}

absl::StatusOr<std::vector<HostTensor>> LoadTestInputs(
    const std::string& folder) {
  std::vector<HostTensor> inputs;
  for (int i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/input_", i, ".pb");
    if (!FileExists(path)) return inputs;
    auto tensor = LoadTensor(path);
    if (!tensor.ok()) return tensor.status();
    inputs.push_back(*std::move(tensor));
  }
}

absl::StatusOr<Tolerance> LoadTolerance(const std::string& case_folder,
                                        Tolerance defaults) {
  std::ifstream file(absl::StrCat(case_folder, "/data.json"));
  if (!file) return defaults;
  const auto json = nlohmann::json::parse(file, /*cb=*/nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(case_folder, "/data.json is not a JSON object"));
  }
  for (auto [key, target] : {std::make_pair("rtol", &defaults.rtol),
                             std::make_pair("atol", &defaults.atol)}) {
    auto it = json.find(key);
    if (it != json.end() && it->is_number()) *target = it->get<double>();
  }
  return defaults;
}

}  // namespace weft
