#include "backends/cuda/routines/copy_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"

namespace weft::cuda {
namespace {

constexpr char kCopySizes[] = R"(
struct m_16 { u64 low, high; };
struct w_copy_sizes { i64 points, rank, dims[8], from[8], to[8]; };
template <class From, class To> W_FN void w_copy(From from, To to, const w_copy_sizes& s) {
  for (i64 p = w_thread(); p < s.points; p += w_threads()) {
    i64 rest = p, source = 0, target = 0;
    for (i64 d = s.rank; d-- > 0; rest /= s.dims[d]) {
      const i64 i = rest % s.dims[d];
      source += i * s.from[d]; target += i * s.to[d];
    }
    w_put(to, target) = w_get(from, source);
  }
}
)";

constexpr char kCopy[] = R"(
W_KERNEL(256) weft_copyBYTES(W_IN(TYPE) from, W_OUT(TYPE) to, const w_copy_sizes s) {
  w_copy(from, to, s);
}
)";

}  // namespace

std::string CopyUnit() {
  std::string text = absl::StrCat(Prelude(), kCopySizes);
  const struct {
    const char* bytes;
    const char* type;
  } kElements[] = {{"1", "u8"}, {"2", "u16"}, {"4", "u32"}, {"8", "u64"}, {"16", "m_16"}};
  for (const auto& element : kElements) {
    text += absl::StrReplaceAll(kCopy, {{"BYTES", element.bytes}, {"TYPE", element.type}});
  }
  return text;
}

}  // namespace weft::cuda
