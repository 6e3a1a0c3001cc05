#include "passes/remarks/name_filter.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The library's matcher recurses on the text's length.
constexpr size_t kMaxName = 1000;

}  // namespace

absl::StatusOr<NameFilter> NameFilter::Parse(const std::string& regex) {
  constexpr size_t kMaxRegex = 200;
  NameFilter filter;
  if (regex.size() > kMaxRegex) {
    return absl::InvalidArgumentError(
        absl::StrCat("a regular expression of more than ", kMaxRegex, " characters"));
  }
  try {
    filter.regex_ = std::regex(regex, std::regex::optimize);
  } catch (const std::regex_error&) {
    return absl::InvalidArgumentError(absl::StrCat("\"", regex, "\" is not a regular expression"));
  }
  return filter;
}

bool NameFilter::Matches(const std::string& name) const {
  return std::regex_match(name.substr(0, kMaxName), regex_);
}

bool NameFilter::Finds(const std::string& name) const {
  return std::regex_search(name.substr(0, kMaxName), regex_);
}

}  // namespace weft
