#include "graph/ir/op.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/check.h"
#include "graph/tensor/type.h"

namespace weft {

const OpSchema& OpDef::ParseSchema() const {
  auto schema = OpSchema::Parse(spec_.schema_);
  WEFT_CHECK(schema.ok()) << name_ << ": " << schema.status().ToString();
  auto* parsed = new OpSchema(*std::move(schema));
  const OpSchema* expected = nullptr;
  if (!schema_.compare_exchange_strong(expected, parsed)) {
    delete parsed;  // Another thread was first.
    return *expected;
  }
  return *parsed;
}

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

Attrs OpArgs::attrs() const { return Attrs(&op->schema(), attr_list); }

bool OpArgs::MayHold(SymInt condition) const {
  if (condition.is_constant()) return !condition.Is(0);
  const Proof proof = symbols != nullptr ? symbols->Prove(condition) : Proof::kUnknown;
  if (proof == Proof::kUnknown && needs != nullptr && condition.is_valid()) {
    needs->push_back(condition);
  }
  return proof != Proof::kNo;
}

EvalContext::EvalContext(const OpDef& op, const AttrList* attrs,
                         absl::Span<const HostTensor> inputs, Types result_types,
                         RegionRunner run_region)
    : op_(op),
      attrs_(attrs),
      inputs_(inputs),
      result_types_(std::move(result_types)),
      outputs_(result_types_.size()),
      run_region_(run_region) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Type t = result_types_[i];
    if (!t.is_tensor()) continue;
    if (auto dims = t.static_dims()) outputs_[i] = HostTensor(t.dtype(), *dims);
  }
}

Attrs EvalContext::attrs() const { return Attrs(&op_.schema(), attrs_); }

void OpRegistry::Register(const OpDef* op) {
  WEFT_CHECK(op->schema().name == op->name())
      << op->name() << " has the schema of " << op->schema().name;
  const bool inserted = by_name_.emplace(op->name(), op).second;
  WEFT_CHECK(inserted) << "two ops are called " << op->name();
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> ops;
  for (const auto& [name, op] : by_name_) ops.push_back(op);
  std::sort(ops.begin(), ops.end(),
            [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
  return ops;
}

absl::StatusOr<Types> InferTypes(const OpArgs& args) {
  const auto annotate = [&](const absl::Status& s) { return Annotate(s, args.op->name()); };
  if (args.op->verify() != nullptr) {
    absl::Status status = args.op->verify()(args);
    if (!status.ok()) return annotate(status);
  }
  WEFT_CHECK(args.op->infer() != nullptr) << args.op->name();
  absl::StatusOr<Types> types = args.op->infer()(args);
  if (!types.ok()) return annotate(types.status());
  for (Type t : *types) {
    if (!t.is_tensor()) continue;
    if (t.rank() > Type::kMaxRank) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat("a result of ", t.rank(), " dims; the limit is ", Type::kMaxRank)));
    }
    if (!t.numel().is_valid()) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat("the size of ", t.ToString(),
                       " cannot be expressed: an operand's "
                       "sizes do not fit together or overflow 64 bits")));
    }
    for (SymInt d : t.dims()) {
      if (d.is_constant() && d.value() < 0) {
        return annotate(
            absl::InvalidArgumentError(absl::StrCat("negative size in ", t.ToString())));
      }
    }
  }
  return types;
}

}  // namespace weft
