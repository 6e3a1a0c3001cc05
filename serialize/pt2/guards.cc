#include "serialize/pt2/guards.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "serialize/pt2/sympy.h"

namespace weft::pt2 {
namespace {

using SizeFn = absl::FunctionRef<absl::StatusOr<SymInt>(absl::string_view, int64_t)>;

// Replaces each L[...].size()[i] in the text by a symbol gN.
class Sizes {
 public:
  absl::Status Read(absl::string_view text) {
    while (!text.empty()) {
      if (!after_name_ && absl::ConsumePrefix(&text, "L[")) {
        WEFT_RETURN_IF_ERROR(ReadSize(&text));
        continue;
      }
      after_name_ = absl::ascii_isalnum(text[0]) || text[0] == '_';
      plain_ += text[0];
      text.remove_prefix(1);
    }
    return absl::OkStatus();
  }

  const std::string& plain() const { return plain_; }

  absl::StatusOr<SymInt> Find(absl::string_view name, SizeFn size_of) const {
    size_t i;
    if (!absl::ConsumePrefix(&name, "g") || !absl::SimpleAtoi(name, &i) || i >= sizes_.size()) {
      return absl::UnimplementedError("it names what is no size of an input");
    }
    return size_of(sizes_[i].input, sizes_[i].dim);
  }

 private:
  struct Size {
    std::string input;
    int64_t dim = 0;
  };

  static absl::Status Unknown() {
    return absl::UnimplementedError("it is about more than the sizes of inputs");
  }

  // The text in brackets, without quotes; consumes the closing bracket.
  static bool TakeKey(absl::string_view* text, absl::string_view* key) {
    const size_t end = text->find(']');
    if (end == absl::string_view::npos) return false;
    *key = text->substr(0, end);
    text->remove_prefix(end + 1);
    for (absl::string_view quote : {"'", "\""}) {
      if (absl::ConsumePrefix(key, quote)) return absl::ConsumeSuffix(key, quote);
    }
    return !key->empty();
  }

  absl::Status ReadSize(absl::string_view* text) {
    Size size;
    absl::string_view key;
    do {
      if (!TakeKey(text, &key)) return Unknown();
      absl::StrAppend(&size.input, size.input.empty() ? "" : "_", key);
    } while (absl::ConsumePrefix(text, "["));
    if (!absl::ConsumePrefix(text, ".size()[") || !TakeKey(text, &key) ||
        !absl::SimpleAtoi(key, &size.dim)) {
      return Unknown();
    }
    absl::StrAppend(&plain_, "g", sizes_.size());
    after_name_ = true;
    sizes_.push_back(std::move(size));
    return absl::OkStatus();
  }

  std::string plain_;
  std::vector<Size> sizes_;
  bool after_name_ = false;
};

}  // namespace

absl::StatusOr<SymInt> ParseGuard(absl::string_view text, SizeFn size_of,
                                  const SymbolTable* facts) {
  if (text.size() > kMaxSympyBytes) return absl::UnimplementedError("it is too long");
  Sizes sizes;
  WEFT_RETURN_IF_ERROR(sizes.Read(text));
  const auto symbol = [&](absl::string_view name) { return sizes.Find(name, size_of); };
  WEFT_ASSIGN_OR_RETURN(const SymInt condition, ParseSympy(sizes.plain(), symbol, facts));
  if (IsTruth(condition)) return condition;
  return absl::UnimplementedError("it is no condition");
}

}  // namespace weft::pt2
