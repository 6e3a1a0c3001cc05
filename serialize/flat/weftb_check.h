// Checks the description of a .weftb file.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_CHECK_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_CHECK_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serialize/flat/weftb_file.h"

namespace weft {

// `bytes` is a whole file at an address that is a multiple of 8. The contents point into it. Time
// and memory are linear in its description; segments are not read. Messages do not name the file.
absl::StatusOr<WeftbContents> CheckWeftb(absl::string_view bytes);

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_CHECK_H_
