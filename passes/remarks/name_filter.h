// Names picked by a regular expression (ECMAScript grammar), as flags take it.
#ifndef WEFT_PASSES_REMARKS_NAME_FILTER_H_
#define WEFT_PASSES_REMARKS_NAME_FILTER_H_

#include <regex>
#include <string>

#include "absl/status/statusor.h"

namespace weft {

class NameFilter {
 public:
  // InvalidArgument for text that is no regular expression.
  static absl::StatusOr<NameFilter> Parse(const std::string& regex);

  // The expression describes the whole name, or a part of it.
  bool Matches(const std::string& name) const;
  bool Finds(const std::string& name) const;

 private:
  std::regex regex_;
};

}  // namespace weft

#endif  // WEFT_PASSES_REMARKS_NAME_FILTER_H_
