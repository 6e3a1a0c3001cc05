#include "graph/ir/attr_view.h"

#include <algorithm>

#include "base/check.h"
#include "graph/ir/attr.h"
#include "graph/ir/attrs.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"

namespace weft {

AttrView::AttrView(const Attrs& attrs, std::initializer_list<const OpDef*> ops)
    : schema_(&attrs.schema()), list_(attrs.list()) {
  const auto has_schema = [&](const OpDef* op) { return &op->schema() == schema_; };
  WEFT_CHECK(std::any_of(ops.begin(), ops.end(), has_schema))
      << "a view of attributes of " << (*ops.begin())->name() << " on those of " << schema_->name;
}

const AttrValue& AttrView::Attr(int i) const {
  return node_ != nullptr ? (*node_->attr_list())[i] : (*list_)[i];
}

template <typename T>
const T& AttrView::Get(int i) const {
  const T* value = Attr(i).get_if<T>();
  WEFT_CHECK(value != nullptr) << (node_ != nullptr ? node_->op().schema() : *schema_).name
                               << ": attribute " << i << " is " << Attr(i).ToString();
  return *value;
}

bool AttrView::Bool(int i) const { return Get<bool>(i); }
int64_t AttrView::Int(int i) const { return Sym(i).value(); }
SymInt AttrView::Sym(int i) const { return Get<SymInt>(i); }
double AttrView::Float(int i) const { return Get<double>(i); }
const std::string& AttrView::Str(int i) const { return Get<std::string>(i); }
DType AttrView::Dtype(int i) const { return Get<DType>(i); }

std::vector<int64_t> AttrView::Ints(int i) const {
  std::vector<int64_t> ints;
  for (SymInt s : Syms(i)) ints.push_back(s.value());
  return ints;
}
absl::Span<const SymInt> AttrView::Syms(int i) const { return Get<std::vector<SymInt>>(i); }
absl::Span<const double> AttrView::Floats(int i) const { return Get<std::vector<double>>(i); }
absl::Span<const std::string> AttrView::Strs(int i) const {
  return Get<std::vector<std::string>>(i);
}

std::optional<bool> AttrView::OptionalBool(int i) const {
  return Attr(i).present() ? std::optional(Bool(i)) : std::nullopt;
}
std::optional<int64_t> AttrView::OptionalInt(int i) const {
  return Attr(i).present() ? std::optional(Int(i)) : std::nullopt;
}
std::optional<SymInt> AttrView::OptionalSym(int i) const {
  return Attr(i).present() ? std::optional(Sym(i)) : std::nullopt;
}
std::optional<double> AttrView::OptionalFloat(int i) const {
  return Attr(i).present() ? std::optional(Float(i)) : std::nullopt;
}
std::optional<absl::string_view> AttrView::OptionalStr(int i) const {
  return Attr(i).present() ? std::optional<absl::string_view>(Str(i)) : std::nullopt;
}

}  // namespace weft
