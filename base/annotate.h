// Errors that say where they happened.
#ifndef WEFT_BASE_ANNOTATE_H_
#define WEFT_BASE_ANNOTATE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weft {

// The same code, and the message "WHERE: MESSAGE". OK stays OK.
inline absl::Status Annotate(const absl::Status& status, absl::string_view where) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace weft

#endif  // WEFT_BASE_ANNOTATE_H_
