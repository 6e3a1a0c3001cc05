#include "graph/ir/attrs.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"

namespace weft {

const AttrValue& Attrs::Get(absl::string_view name) const {
  const int i = schema_->FindAttr(name);
  WEFT_CHECK(i >= 0) << schema_->name << " has no attribute " << name;
  return (*list_)[i];
}

namespace {

template <typename T>
const T& GetAs(const Attrs& attrs, absl::string_view name) {
  const T* v = attrs.Get(name).get_if<T>();
  WEFT_CHECK(v != nullptr) << attrs.schema().name << ": attribute " << name << " is "
                           << attrs.Get(name).ToString();
  return *v;
}

}  // namespace

bool Attrs::Has(absl::string_view name) const { return Get(name).present(); }
bool Attrs::Bool(absl::string_view name) const { return GetAs<bool>(*this, name); }
int64_t Attrs::Int(absl::string_view name) const { return GetAs<SymInt>(*this, name).value(); }
double Attrs::Float(absl::string_view name) const { return GetAs<double>(*this, name); }
const std::string& Attrs::Str(absl::string_view name) const {
  return GetAs<std::string>(*this, name);
}
DType Attrs::Dtype(absl::string_view name) const { return GetAs<DType>(*this, name); }
SymInt Attrs::Sym(absl::string_view name) const { return GetAs<SymInt>(*this, name); }
absl::Span<const SymInt> Attrs::Syms(absl::string_view name) const {
  return GetAs<std::vector<SymInt>>(*this, name);
}
std::vector<int64_t> Attrs::Ints(absl::string_view name) const {
  std::vector<int64_t> out;
  for (SymInt s : Syms(name)) out.push_back(s.value());
  return out;
}
const std::vector<double>& Attrs::Floats(absl::string_view name) const {
  return GetAs<std::vector<double>>(*this, name);
}
const std::vector<std::string>& Attrs::Strs(absl::string_view name) const {
  return GetAs<std::vector<std::string>>(*this, name);
}

}  // namespace weft
