#include "api/inspect/extract_spec.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft {
namespace {

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), between_(HasColon()) {}

  absl::StatusOr<ExtractSpec> Parse() {
    ExtractSpec spec;
    WEFT_ASSIGN_OR_RETURN(spec.from, ParseList());
    if (at_ < text_.size()) {
      ++at_;  // The ':'.
      spec.between = true;
      WEFT_ASSIGN_OR_RETURN(spec.to, ParseList());
      if (at_ < text_.size()) return Error("a second ':'; names with one stand in quotes");
      if (spec.from.empty() && spec.to.empty()) return Error("no names");
      return spec;
    }
    if (spec.from.empty()) return Error("no names");
    spec.nodes = std::move(spec.from);
    spec.from.clear();
    return spec;
  }

 private:
  // Up to a ':' outside of quotes, or the end.
  absl::StatusOr<std::vector<ExtractSpec::Item>> ParseList() {
    std::vector<ExtractSpec::Item> items;
    if (AtEndOfList()) return items;
    for (;;) {
      ExtractSpec::Item& item = items.emplace_back();
      const size_t start = at_;
      WEFT_RETURN_IF_ERROR(ParseName(&item.name, &item.pattern));
      if (absl::StartsWith(text_.substr(at_), "..")) {
        at_ += 2;
        bool pattern = false;
        WEFT_RETURN_IF_ERROR(ParseName(&item.last, &pattern));
        if (pattern || item.pattern) return Error("a range has no '*'", start);
      }
      if (between_ && (item.pattern || !item.last.empty())) {
        return Error("a list beside ':' has neither '*' nor ranges", start);
      }
      if (AtEndOfList()) return items;
      if (text_[at_] != ',') return Error("expected ',' after a range");
      ++at_;
    }
  }

  bool AtEndOfList() const { return at_ == text_.size() || text_[at_] == ':'; }

  // True if a ':' outside of quotes stands somewhere in the text.
  bool HasColon() const {
    bool quoted = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (quoted && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        quoted = !quoted;
      } else if (text_[i] == ':' && !quoted) {
        return true;
      }
    }
    return false;
  }

  absl::Status ParseName(std::string* name, bool* pattern) {
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        *name += text_[at_];
      }
      if (at_ == text_.size()) return Error("a '\"' is not closed", start);
      ++at_;
    } else {
      while (at_ < text_.size() && !absl::StrContains(",:\"", text_[at_]) &&
             !absl::StartsWith(text_.substr(at_), "..")) {
        *pattern = *pattern || text_[at_] == '*';
        *name += text_[at_++];
      }
    }
    if (name->empty()) return Error("a name is missing", start);
    if (at_ == text_.size() || text_[at_] == ',' || text_[at_] == ':' ||
        absl::StartsWith(text_.substr(at_), "..")) {
      return absl::OkStatus();
    }
    return Error("expected ',', ':' or \"..\" after a name");
  }

  absl::Status Error(absl::string_view what) const { return Error(what, at_); }
  static absl::Status Error(absl::string_view what, size_t at) {
    return absl::InvalidArgumentError(absl::StrCat("column ", at + 1, ": ", what));
  }

  const absl::string_view text_;
  const bool between_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<ExtractSpec> ParseExtractSpec(absl::string_view text) {
  return Parser(text).Parse();
}

bool MatchesStars(absl::string_view pattern, absl::string_view text) {
  // The last star, and where the text behind what it stands for begins.
  size_t star = absl::string_view::npos, resume = 0;
  size_t p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace weft
