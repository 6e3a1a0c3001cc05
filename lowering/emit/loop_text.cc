#include "lowering/emit/loop_text.h"

#include "absl/strings/str_cat.h"

namespace weft::emit {

std::string LinearText(SymInt offset, absl::Span<const SymInt> strides, const LoopOrder& order,
                       absl::string_view lane, SizeTable* sizes) {
  std::string text = sizes->Text(offset);
  for (size_t k = 0; k < strides.size(); ++k) {
    if (strides[k].Is(0)) continue;
    std::string loop = order.names[k];
    if (!lane.empty() && static_cast<int>(k) == order.vector_loop) {
      loop = absl::StrCat("(", loop, " + ", lane, ")");
    }
    absl::StrAppend(&text, " + ", loop);
    if (!strides[k].Is(1)) absl::StrAppend(&text, " * ", sizes->Text(strides[k]));
  }
  return text;
}

std::string GuardText(const Access& access, const LoopOrder& order, absl::string_view lane,
                      SizeTable* sizes) {
  std::string text;
  for (const Access::Guard& guard : access.guards) {
    // As unsigned numbers, negative values are above every bound.
    absl::StrAppend(&text, text.empty() ? "" : " && ", "(u64)(",
                    LinearText(guard.offset, guard.strides, order, lane, sizes), ") < (u64)",
                    sizes->Text(guard.bound));
  }
  return text.empty() ? "true" : text;
}

}  // namespace weft::emit
