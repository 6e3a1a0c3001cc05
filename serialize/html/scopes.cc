#include "serialize/html/scopes.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace weft {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

std::vector<std::string> SplitScopes(absl::string_view name) {
  std::vector<std::string> parts;
  const bool slashes = name.find('/') != absl::string_view::npos;
  for (absl::string_view part : absl::StrSplit(name, slashes ? '/' : '.', absl::SkipEmpty())) {
    if (!slashes && !parts.empty() && IsNumber(part)) {
      absl::StrAppend(&parts.back(), ".", part);
    } else if (parts.size() > kMaxScopeDepth) {
      // The deepest scope takes all levels below it; the last part is the name.
      absl::StrAppend(&parts[kMaxScopeDepth - 1], slashes ? "/" : ".", parts.back());
      parts.back() = std::string(part);
    } else {
      parts.emplace_back(part);
    }
  }
  if (!parts.empty()) parts.pop_back();
  return parts;
}

int ScopeTree::Child(int parent, int name) {
  auto [it, inserted] = children_.emplace(std::make_pair(parent, name), scopes_.size());
  if (inserted) scopes_.push_back({parent, name, scopes_[parent].depth + 1});
  return it->second;
}

int ScopeTree::Of(absl::string_view name) {
  int scope = 0;
  for (const std::string& part : SplitScopes(name)) scope = Child(scope, strings_->Add(part));
  return scope;
}

int ScopeTree::Common(int a, int b) const {
  while (a != b) {
    // Parents have smaller ids, so the larger of the two cannot enclose the other.
    if (a > b) {
      a = scopes_[a].parent;
    } else {
      b = scopes_[b].parent;
    }
  }
  return a;
}

int ScopeTree::Relative(int scope, int base) {
  std::vector<int> names;
  for (int s = scope; s != base && s > 0; s = scopes_[s].parent) names.push_back(scopes_[s].name);
  int result = 0;
  for (auto it = names.rbegin(); it != names.rend(); ++it) result = Child(result, *it);
  return result;
}

std::string ScopeTree::Path(int scope) const {
  std::vector<std::string> names;
  for (int s = scope; s > 0; s = scopes_[s].parent) {
    names.push_back(absl::StrReplaceAll((*strings_)[scopes_[s].name], {{"/", "_"}}));
  }
  std::string path;
  for (auto it = names.rbegin(); it != names.rend(); ++it) {
    absl::StrAppend(&path, path.empty() ? "" : "/", *it);
  }
  return path;
}

}  // namespace weft
