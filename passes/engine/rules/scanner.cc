#include "passes/engine/rules/scanner.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft {
namespace {

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNumberChar(char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }

}  // namespace

std::pair<size_t, size_t> RuleScanner::LineAndColumn() const {
  const absl::string_view before = text_.substr(0, at_);
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  return {line, start == before.npos ? at_ + 1 : at_ - start};
}

absl::Status RuleScanner::Error(absl::string_view message) const {
  const auto [line, column] = LineAndColumn();
  return absl::InvalidArgumentError(absl::StrCat(file_, ":", line, ":", column, ": ", message));
}

void RuleScanner::Skip() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    } else {
      return;
    }
  }
}

std::string RuleScanner::Where() const { return absl::StrCat(file_, ":", LineAndColumn().first); }

size_t RuleScanner::Mark() {
  Skip();
  return at_;
}

bool RuleScanner::AtEnd() { return Mark() == text_.size(); }

bool RuleScanner::AtName() { return !AtEnd() && IsNameStart(text_[at_]); }

bool RuleScanner::Peek(absl::string_view token) {
  Skip();
  if (text_.substr(at_, token.size()) != token) return false;
  return !IsNameChar(token.back()) || at_ + token.size() >= text_.size() ||
         !IsNameChar(text_[at_ + token.size()]);
}

bool RuleScanner::Take(absl::string_view token) {
  if (!Peek(token)) return false;
  at_ += token.size();
  return true;
}

absl::Status RuleScanner::Expect(absl::string_view token) {
  if (Take(token)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", token, "'"));
}

absl::string_view RuleScanner::TakeName() {
  Skip();
  size_t end = at_;
  if (end < text_.size() && IsNameStart(text_[end])) {
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
  }
  const absl::string_view name = text_.substr(at_, end - at_);
  at_ = end;
  return name;
}

absl::StatusOr<absl::string_view> RuleScanner::Name(absl::string_view what) {
  const absl::string_view name = TakeName();
  if (name.empty()) return Error(absl::StrCat("expected ", what));
  return name;
}

bool RuleScanner::AtNumber() {
  Skip();
  const size_t first = at_ + (at_ < text_.size() && text_[at_] == '-');
  return first < text_.size() && IsNumberChar(text_[first]);
}

absl::StatusOr<absl::string_view> RuleScanner::Number() {
  Skip();
  size_t end = at_;
  if (end < text_.size() && text_[end] == '-') ++end;
  while (end < text_.size() &&
         (IsNumberChar(text_[end]) || text_[end] == 'e' ||
          ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e'))) {
    ++end;
  }
  double ignored;
  const absl::string_view number = text_.substr(at_, end - at_);
  if (!absl::SimpleAtod(number, &ignored)) return Error("expected a number");
  at_ = end;
  return number;
}

absl::StatusOr<int64_t> RuleScanner::Integer() {
  const size_t begin = at_;
  WEFT_ASSIGN_OR_RETURN(const absl::string_view number, Number());
  int64_t value;
  if (absl::SimpleAtoi(number, &value)) return value;
  at_ = begin;
  return Error("expected an integer");
}

absl::StatusOr<std::string> RuleScanner::String() {
  WEFT_RETURN_IF_ERROR(Expect("\""));
  const size_t end = text_.find('"', at_);
  if (end == text_.npos) return Error("the string has no end");
  std::string s(text_.substr(at_, end - at_));
  at_ = end + 1;
  return s;
}

absl::string_view RuleScanner::TakeStatement() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of("#;\n", at_), text_.size());
  return absl::StripTrailingAsciiWhitespace(text_.substr(begin, at_ - begin));
}

absl::StatusOr<std::string> RuleScanner::Kebab(absl::string_view what) {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view first, Name(what));
  std::string name(first);
  while (at_ + 1 < text_.size() && text_[at_] == '-' && IsNameChar(text_[at_ + 1])) {
    ++at_;
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    absl::StrAppend(&name, "-", text_.substr(begin, at_ - begin));
  }
  return name;
}

}  // namespace weft
