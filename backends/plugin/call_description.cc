#include "backends/plugin/call_description.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "graph/ir/attr.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "lowering/plan.h"

namespace weft::plugin {
namespace {

// The C interface's number for each DType, in the order of DType.
constexpr weft_dtype kDTypes[kNumDTypes] = {
    WEFT_BOOL,   WEFT_U4,         WEFT_U8,         WEFT_U16,  WEFT_U32,    WEFT_U64,
    WEFT_I4,     WEFT_I8,         WEFT_I16,        WEFT_I32,  WEFT_I64,    WEFT_F8E4M3,
    WEFT_F8E5M2, WEFT_F8E4M3FNUZ, WEFT_F8E5M2FNUZ, WEFT_F16,  WEFT_BF16,   WEFT_F32,
    WEFT_F64,    WEFT_C32,        WEFT_C64,        WEFT_C128, WEFT_F4E2M1, WEFT_F8E8M0};

// The member of weft_attr that holds the values.
weft_attr_kind KindOf(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return WEFT_ATTR_BOOL;
    case AttrKind::kInt:
    case AttrKind::kSymInt:
      return WEFT_ATTR_INT;
    case AttrKind::kFloat:
      return WEFT_ATTR_FLOAT;
    case AttrKind::kString:
      return WEFT_ATTR_TEXT;
    case AttrKind::kDType:
      return WEFT_ATTR_DTYPE;
    case AttrKind::kInts:
    case AttrKind::kSymInts:
      return WEFT_ATTR_INTS;
    case AttrKind::kFloats:
      return WEFT_ATTR_FLOATS;
    case AttrKind::kStrings:
      return WEFT_ATTR_TEXTS;
  }
  return WEFT_ATTR_ABSENT;
}

// The values of an attribute of any kind.
struct Values {
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> texts;
  bool known = true;  // False if one of them is a symbol.

  void operator()(std::monostate) {}
  void operator()(bool v) { ints.push_back(v ? 1 : 0); }
  void operator()(SymInt v) {
    known = known && v.is_constant();
    ints.push_back(v.constant().value_or(0));
  }
  void operator()(double v) { floats.push_back(v); }
  void operator()(const std::string& v) { texts.push_back(v); }
  void operator()(DType v) { ints.push_back(DTypeToC(v)); }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    for (const T& v : list) (*this)(v);
  }
};

}  // namespace

weft_dtype DTypeToC(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }

Extent ExtentOf(const RunView& view) {
  Extent extent;
  if (view.symint) return extent;
  int64_t low = 0;
  int64_t high = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] == 0) return extent;
    const int64_t last = view.strides[d] * (view.dims[d] - 1);
    low += std::min<int64_t>(last, 0);
    high += std::max<int64_t>(last, 0);
  }
  const int64_t bits = DTypeBits(view.dtype);
  extent.before = (-low * bits + 7) / 8;
  extent.after = ((high + 1) * bits + 7) / 8;
  return extent;
}

Extent ExtentOf(const StepRequest& request, const RunView& view) {
  if (!view.present()) return {};
  const Buffer& buffer = request.plan.buffers[view.buffer];
  const std::optional<int64_t> numel = request.env.Eval(buffer.numel);
  if (!numel) return ExtentOf(view);
  Extent extent;
  extent.before = view.offset * DTypeBits(view.dtype) / 8;
  extent.after = DTypeBytes(buffer.dtype, *numel) - extent.before;
  // A view without elements may begin past the end of its buffer.
  return extent.before < 0 || extent.after < 0 ? ExtentOf(view) : extent;
}

CallDescription::CallDescription(std::string op, std::string label)
    : op_(std::move(op)), label_(std::move(label)) {}

weft_device_tensor CallDescription::Tensor(const RunView& view, const Extent& extent) {
  weft_device_tensor tensor = {};
  tensor.kind = view.symint ? WEFT_INTEGER : view.present() ? WEFT_TENSOR : WEFT_ABSENT;
  tensor.dtype = DTypeToC(view.dtype);
  tensor.rank = view.rank();
  tensor.dims = ints_.emplace_back(view.dims).data();
  tensor.strides = ints_.emplace_back(view.strides).data();
  tensor.bytes_before = extent.before;
  tensor.bytes_after = extent.after;
  tensor.value = view.value;
  return tensor;
}

void CallDescription::AddArg(const RunView& view, const Extent& extent) {
  args_.push_back(Tensor(view, extent));
}
void CallDescription::AddResult(const RunView& view, const Extent& extent) {
  results_.push_back(Tensor(view, extent));
}
void CallDescription::SetKernel(weft_kernel kernel, std::string name) {
  kernel_ = kernel;
  kernel_name_ = std::move(name);
}

bool CallDescription::Attrs(const OpDef& op, const AttrList* list, std::vector<weft_attr>* to) {
  const std::vector<AttrSpec>& specs = op.schema().attrs;
  for (size_t i = 0; list != nullptr && i < list->values().size() && i < specs.size(); ++i) {
    Values values;
    std::visit(values, list->values()[i].storage());
    if (!values.known) return false;
    weft_attr attr = {};
    attr.name = strings_.emplace_back(specs[i].name).c_str();
    if (list->values()[i].present()) attr.kind = KindOf(specs[i].kind);
    attr.count = static_cast<int32_t>(
        std::max({values.ints.size(), values.floats.size(), values.texts.size()}));
    attr.ints = ints_.emplace_back(std::move(values.ints)).data();
    attr.floats = floats_.emplace_back(std::move(values.floats)).data();
    std::vector<const char*>& texts = texts_.emplace_back();
    for (std::string& text : values.texts) {
      texts.push_back(strings_.emplace_back(std::move(text)).c_str());
    }
    attr.texts = texts.data();
    to->push_back(attr);
  }
  return true;
}

bool CallDescription::SetAttrs(const OpDef& op, const AttrList* attrs) {
  return Attrs(op, attrs, &attrs_);
}

bool CallDescription::AddEpilogue(const Epilogue& given) {
  weft_epilogue epilogue = {};
  const bool bias = given.kind == Epilogue::Kind::kBias || given.op == nullptr;
  epilogue.op = strings_.emplace_back(bias ? "bias" : std::string(given.op->name())).c_str();
  epilogue.arg = given.arg;
  std::vector<weft_attr>& attrs = lists_.emplace_back();
  if (!bias && !Attrs(*given.op, given.attrs, &attrs)) return false;
  epilogue.num_attrs = static_cast<int32_t>(attrs.size());
  epilogue.attrs = attrs.data();
  epilogues_.push_back(epilogue);
  return true;
}

weft_call CallDescription::ToC(weft_plan* plan) const {
  weft_call call = {};
  call.struct_size = sizeof call;
  call.op = op_.c_str();
  call.label = label_.c_str();
  call.num_args = static_cast<int32_t>(args_.size());
  call.num_results = static_cast<int32_t>(results_.size());
  call.args = args_.data();
  call.results = results_.data();
  call.num_attrs = static_cast<int32_t>(attrs_.size());
  call.num_epilogues = static_cast<int32_t>(epilogues_.size());
  call.attrs = attrs_.data();
  call.epilogues = epilogues_.data();
  call.kernel = kernel_;
  call.kernel_name = kernel_name_.c_str();
  call.plan = plan;
  return call;
}

}  // namespace weft::plugin
