#include "api/check/reduce_pipeline.h"

#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "passes/engine/pass_manager/pipeline.h"

namespace weft {
namespace {

// Commas outside of braces, parentheses and quotes separate items.
std::vector<std::string> SplitItems(absl::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  if (items.back().empty()) items.pop_back();
  return items;
}

// The items in the parentheses of a fixpoint; empty for a pass.
std::vector<std::string> BodyOf(const std::string& item) {
  if (item.empty() || item.back() != ')') return {};
  const size_t open = item.find('(');
  return SplitItems(absl::string_view(item).substr(open + 1, item.size() - open - 2));
}

}  // namespace

absl::StatusOr<std::string> ReducePipeline(const std::string& passes, const PassRegistry& registry,
                                           const std::function<bool(const std::string&)>& holds) {
  // Expands named pipelines.
  WEFT_ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse(passes, registry));
  std::vector<std::string> items = SplitItems(pipeline.ToString(registry));
  const auto still = [&](const std::vector<std::string>& list) {
    return holds(absl::StrJoin(list, ","));
  };
  if (!still(items)) return absl::InvalidArgumentError("the pipeline does not show it");
  for (size_t i = items.size(); i-- > 0;) {
    std::vector<std::string> shorter = items;
    shorter.erase(shorter.begin() + i);
    if (still(shorter)) {
      items = std::move(shorter);
      continue;
    }
    const std::vector<std::string> body = BodyOf(items[i]);
    if (body.empty()) continue;
    shorter.insert(shorter.begin() + i, body.begin(), body.end());
    if (!still(shorter)) continue;
    items = std::move(shorter);
    i += body.size();  // Tries its items next.
  }
  return absl::StrJoin(items, ",");
}

}  // namespace weft
