// Interned strings: an event holds the id of its name.
//
// Ids are dense, given in order of first use, and live as long as the process. Intern only names
// that are used repeatedly, such as those of ops and passes, not texts made for one event.
#ifndef WEFT_PROFILER_NAMES_H_
#define WEFT_PROFILER_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft::profiler {

// 0 is the empty name.
using NameId = uint32_t;

// The id of `text`. Thread-safe. Takes a shared lock even for a known name, so keep the id for
// frequent events: `static const NameId kName = InternName("matmul");`
NameId InternName(absl::string_view text);

// The text of an id that InternName gave.
absl::string_view NameOf(NameId id);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_NAMES_H_
