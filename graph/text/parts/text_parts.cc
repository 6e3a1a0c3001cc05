#include "graph/text/parts/text_parts.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/op_schema.h"
#include "graph/text/parts/text_reader.h"

namespace weft::text {
namespace {

// AttrValue::ToString, but a NaN with a payload is written as its bits.
std::string AttrToString(const AttrValue& value) {
  const auto float_to_string = [](double v) {
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof(bits));
    constexpr uint64_t kPlainNan = 0x7ff8000000000000;
    if (v == v || bits == kPlainNan) return FloatToString(v);
    return absl::StrCat("0x", absl::Hex(bits));
  };
  if (const double* v = value.get_if<double>()) return float_to_string(*v);
  const auto* list = value.get_if<std::vector<double>>();
  if (list == nullptr) return value.ToString();
  std::string out = "[";
  for (double v : *list) {
    absl::StrAppend(&out, out.size() == 1 ? "" : ", ", float_to_string(v));
  }
  return out + "]";
}

}  // namespace

std::string LiteralToString(const HostTensor& tensor, absl::string_view name) {
  std::string out = name.empty() ? "" : absl::StrCat(Quote(name), " ");
  AppendDense(tensor, &out);
  return out;
}

std::string AttrsToString(const OpSchema& schema, const AttrList* attrs) {
  std::string out;
  for (int i = 0; attrs != nullptr && i < attrs->size(); ++i) {
    const AttrValue& value = (*attrs)[i];
    // A broken node may have more attributes than its schema; the verifier reports it.
    const bool known = i < static_cast<int>(schema.attrs.size());
    const auto* spec = known ? &schema.attrs[i] : nullptr;
    if (known && spec->default_value && *spec->default_value == value) continue;
    absl::StrAppend(&out, out.empty() ? "" : ", ", known ? spec->name : "?", "=",
                    AttrToString(value));
  }
  return out;
}

}  // namespace weft::text
