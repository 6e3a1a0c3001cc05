// Statuses as errors of the C interface (api/c/weft.h), and the boundary that no exception crosses.
#ifndef WEFT_API_C_ENTRIES_ERRORS_H_
#define WEFT_API_C_ENTRIES_ERRORS_H_

#include <algorithm>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/c/weft.h"

namespace weft::c {

// Null for OK. `function` is an entry of the table. If there is no memory for the error, the result
// is one that says that.
weft_error* ErrorFrom(const absl::Status& status, const char* function) noexcept;

// The result of `body()` as an error.
weft_error* Guarded(const char* function, absl::FunctionRef<absl::Status()> body) noexcept;

// InvalidArgument if a pointer that must be there is null; `name` is the parameter's.
absl::Status CheckGiven(const void* pointer, absl::string_view name);

// The options as this version knows them: members behind the caller's size are 0.
template <typename Options>
absl::StatusOr<Options> OptionsFrom(const Options* given) {
  Options options = {};
  if (given == nullptr) return options;
  if (given->struct_size < sizeof given->struct_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "struct_size of the options is ", given->struct_size, "; it is the size of their struct"));
  }
  std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
  return options;
}

}  // namespace weft::c

#endif  // WEFT_API_C_ENTRIES_ERRORS_H_
