#include "passes/engine/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace weft {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last.back();
}

}  // namespace

std::string DidYouMean(absl::string_view name, absl::Span<const std::string> names) {
  constexpr size_t kMaxLength = 64;
  if (name.size() > kMaxLength) return "";
  const std::string* best = nullptr;
  int best_distance = 1 + static_cast<int>(name.size() + 2) / 3;
  for (const std::string& candidate : names) {
    const int distance = EditDistance(name, candidate);
    if (distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best == nullptr) return "";
  return absl::StrCat(", did you mean \"", *best, "\"?");
}

void PassRegistry::Add(PassFactory factory) {
  const std::string name(factory()->name());
  WEFT_CHECK(FindPipeline(name) == nullptr && passes_.count(name) == 0)
      << "two passes or pipelines called " << name;
  passes_.emplace(name, std::move(factory));
}

void PassRegistry::AddPipeline(NamedPipeline pipeline) {
  WEFT_CHECK(FindPipeline(pipeline.name) == nullptr && passes_.count(pipeline.name) == 0)
      << "two passes or pipelines called " << pipeline.name;
  pipelines_.push_back(std::move(pipeline));
}

std::unique_ptr<Pass> PassRegistry::Create(absl::string_view name) const {
  auto it = passes_.find(name);
  return it == passes_.end() ? nullptr : it->second();
}

const NamedPipeline* PassRegistry::FindPipeline(absl::string_view name) const {
  for (const NamedPipeline& pipeline : pipelines_) {
    if (pipeline.name == name) return &pipeline;
  }
  return nullptr;
}

std::vector<std::string> PassRegistry::PassNames() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : passes_) names.push_back(name);
  return names;
}

}  // namespace weft
