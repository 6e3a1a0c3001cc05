// Any bytes as a .npy file: a tensor or a status, never a crash. A tensor writes to bytes that read
// back to the same tensor, and its bools are 0 or 1.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/tensor/tensor.h"
#include "serialize/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = weft::ParseNpy({reinterpret_cast<const char*>(data), size});
  if (!tensor.ok()) return 0;
  if (tensor->dtype() == weft::DType::kBool) {
    for (int64_t i = 0; i < tensor->numel(); ++i) WEFT_CHECK(tensor->raw()[i] <= 1) << i;
  }
  const auto bytes = weft::FormatNpy(*tensor);
  WEFT_CHECK(bytes.ok()) << bytes.status().ToString();
  const auto again = weft::ParseNpy(*bytes);
  WEFT_CHECK(again.ok()) << again.status().ToString();
  WEFT_CHECK(again->BitEqual(*tensor));
  return 0;
}
