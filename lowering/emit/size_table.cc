#include "lowering/emit/size_table.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"

namespace weft::emit {

std::string SizeTable::Text(SymInt s) {
  if (s.is_constant()) {
    // The digits of the least integer are too large for a literal without its sign.
    if (s.value() == std::numeric_limits<int64_t>::min()) return "(-0x7fffffffffffffffL - 1)";
    return absl::StrCat(s.value(), "L");
  }
  const auto [it, fresh] = index_.try_emplace(s, static_cast<int>(sizes_.size()));
  if (fresh) sizes_.push_back(s);
  return absl::StrCat("z", it->second);
}

}  // namespace weft::emit
