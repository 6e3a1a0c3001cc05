#include "tests/trust/model_pool.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "examples/models/models.h"

namespace weft::trust {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLoaded = 60;
constexpr uintmax_t kMaxBytes = 4 << 20;

}  // namespace

ModelPool& ModelPool::Of(const std::string& folder) {
  static auto& pools = *new std::map<std::string, std::unique_ptr<ModelPool>>;
  std::unique_ptr<ModelPool>& pool = pools[folder];
  if (pool == nullptr) pool.reset(new ModelPool(folder));
  return *pool;
}

ModelPool::ModelPool(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) {
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
      const std::string path = entry.path().string();
      const bool model = absl::EndsWith(path, ".onnx") || absl::EndsWith(path, ".pt2");
      if (model && entry.is_regular_file() && entry.file_size() <= kMaxBytes) {
        names_.push_back(path);
      }
    }
  }
  std::sort(names_.begin(), names_.end());
  num_files_ = names_.size();
  for (const models::ModelEntry& entry : models::AllModels()) names_.push_back(entry.name);
  loaded_.resize(names_.size());
  tried_.resize(names_.size());
}

std::unique_ptr<Module> ModelPool::Load(size_t index) const {
  std::unique_ptr<Module> module;
  if (index < num_files_) {
    auto loaded = LoadModel(names_[index]);
    if (loaded.ok()) module = *std::move(loaded);
  } else {
    models::ModelOptions options;
    options.small = true;
    options.written_attention = index % 2 == 0;
    auto model = models::BuildModel(names_[index], options);
    if (model.ok()) module = std::move(model->module);
  }
  if (module == nullptr || module->main() == nullptr) return nullptr;
  CompileOptions compile;
  compile.passes = "functionalize";
  return Compile(*module, compile).ok() ? std::move(module) : nullptr;
}

const Module* ModelPool::Any(Random& random) {
  // One in four is built, where there are files.
  const size_t built = names_.size() - num_files_;
  const bool file = num_files_ > 0 && !random.OneIn(4);
  const size_t index = file ? random.Next() % num_files_ : num_files_ + random.Next() % built;
  if (loaded_[index] == nullptr && !tried_[index]) {
    loaded_[index] = Load(index);
    tried_[index] = true;
    order_.push_back(index);
    if (order_.size() > kMaxLoaded) {
      loaded_[order_.front()] = nullptr;
      tried_[order_.front()] = false;
      order_.erase(order_.begin());
    }
  }
  return loaded_[index].get();
}

}  // namespace weft::trust
