#include "backends/cpu/library/routine_ops.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_schema.h"

namespace weft::cpu {
namespace {

struct ReadAttr {
  const char* name;
  AttrKind kind;
  bool optional = false;
};

constexpr ReadAttr kConvolutionAttrs[] = {
    {"stride", AttrKind::kSymInts},         {"padding", AttrKind::kSymInts},
    {"dilation", AttrKind::kSymInts},       {"transposed", AttrKind::kBool},
    {"output_padding", AttrKind::kSymInts}, {"groups", AttrKind::kSymInt},
};
constexpr ReadAttr kNbitsAttrs[] = {
    {"group_size", AttrKind::kInt},
    {"bits", AttrKind::kInt},
    {"offset", AttrKind::kBool, /*optional=*/true},
};
constexpr ReadAttr kAttentionAttrs[] = {
    {"is_causal", AttrKind::kBool},
    {"scale", AttrKind::kFloat, /*optional=*/true},
    {"softcap", AttrKind::kFloat},
};
constexpr ReadAttr kPoolAttrs[] = {
    {"kernel_size", AttrKind::kInts},
    {"stride", AttrKind::kInts},
    {"padding", AttrKind::kInts},
    {"dilation", AttrKind::kInts},
};
constexpr ReadAttr kRecurrentAttrs[] = {
    {"hidden_size", AttrKind::kInt},        {"direction", AttrKind::kString},
    {"activations", AttrKind::kStrings},    {"activation_alpha", AttrKind::kFloats},
    {"activation_beta", AttrKind::kFloats}, {"clip", AttrKind::kFloat},
};
constexpr ReadAttr kDftAttrs[] = {
    {"dft_length", AttrKind::kSymInt, /*optional=*/true},
    {"axis", AttrKind::kInt},
    {"inverse", AttrKind::kBool},
    {"onesided", AttrKind::kBool},
};
constexpr ReadAttr kStftAttrs[] = {
    {"frame_step", AttrKind::kSymInt},
    {"frame_length", AttrKind::kSymInt},
};
constexpr ReadAttr kGridSamplerAttrs[] = {
    {"mode", AttrKind::kString},
    {"padding_mode", AttrKind::kString},
    {"align_corners", AttrKind::kBool},
};
constexpr ReadAttr kInterpolateAttrs[] = {
    {"scales", AttrKind::kFloats},
    {"mode", AttrKind::kString},
    {"coordinate_transformation_mode", AttrKind::kString},
    {"nearest_mode", AttrKind::kString},
    {"cubic_coeff_a", AttrKind::kFloat},
    {"exclude_outside", AttrKind::kBool},
    {"antialias", AttrKind::kBool},
};
constexpr ReadAttr kRollAttrs[] = {
    {"shifts", AttrKind::kSymInts},
    {"dims", AttrKind::kInts},
};
constexpr ReadAttr kObserveAttrs[] = {
    {"statistic", AttrKind::kString},
    {"axis", AttrKind::kInt, /*optional=*/true},
    {"momentum", AttrKind::kFloat},
};
constexpr ReadAttr kScanAttrs[] = {
    {"dim", AttrKind::kInt},
    {"exclusive", AttrKind::kBool},
    {"reverse", AttrKind::kBool},
};
constexpr ReadAttr kDimAttrs[] = {{"dim", AttrKind::kInt}};
constexpr ReadAttr kSortAttrs[] = {
    {"dim", AttrKind::kInt},
    {"descending", AttrKind::kBool},
};
constexpr ReadAttr kTopkAttrs[] = {
    {"k", AttrKind::kSymInt},
    {"dim", AttrKind::kInt},
    {"largest", AttrKind::kBool},
};
constexpr ReadAttr kScatterAttrs[] = {
    {"dim", AttrKind::kInt},
    {"reduce", AttrKind::kString},
};
constexpr ReadAttr kScatterNdAttrs[] = {{"reduce", AttrKind::kString}};
constexpr ReadAttr kConvertAttrs[] = {
    {"dtype", AttrKind::kDType},
    {"saturate", AttrKind::kBool},
};
constexpr ReadAttr kFoldAttrs[] = {
    {"kernel_size", AttrKind::kInts},
    {"dilation", AttrKind::kInts},
    {"padding", AttrKind::kInts},
    {"stride", AttrKind::kInts},
};

struct RoutineOpInfo {
  RoutineOp op;
  const char* name;
  absl::Span<const ReadAttr> attrs;
  std::optional<ReadAttr> own;  // The one that ops with the same others do not have.
};

const RoutineOpInfo kOps[] = {
    {RoutineOp::kMatmul, "matmul", {}},
    {RoutineOp::kLinear, "linear", {}},
    {RoutineOp::kConvolution, "convolution", kConvolutionAttrs},
    {RoutineOp::kMatmulInteger, "matmul_integer", {}},
    {RoutineOp::kConvolutionInteger, "convolution_integer", kConvolutionAttrs},
    {RoutineOp::kMatmulNbits, "matmul_nbits", kNbitsAttrs},
    {RoutineOp::kAttention, "scaled_dot_product_attention", kAttentionAttrs},
    {RoutineOp::kMaxPool, "max_pool", kPoolAttrs},
    {RoutineOp::kAvgPool, "avg_pool", kPoolAttrs, {{"count_include_pad", AttrKind::kBool}}},
    {RoutineOp::kLstm, "lstm", kRecurrentAttrs, {{"input_forget", AttrKind::kBool}}},
    {RoutineOp::kGru, "gru", kRecurrentAttrs, {{"linear_before_reset", AttrKind::kBool}}},
    {RoutineOp::kRnn, "rnn", kRecurrentAttrs},
    {RoutineOp::kDft, "dft", kDftAttrs},
    {RoutineOp::kStft, "stft", kStftAttrs},
    {RoutineOp::kGridSampler, "grid_sampler", kGridSamplerAttrs},
    {RoutineOp::kInterpolate, "interpolate", kInterpolateAttrs},
    {RoutineOp::kCol2Im, "col2im", kFoldAttrs},
    {RoutineOp::kRoll, "roll", kRollAttrs},
    {RoutineOp::kObserve, "observe", kObserveAttrs},
    {RoutineOp::kCumsum, "cumsum", kScanAttrs},
    {RoutineOp::kCumprod, "cumprod", kScanAttrs},
    {RoutineOp::kCummax, "cummax", kDimAttrs},
    {RoutineOp::kCummin, "cummin", kDimAttrs},
    {RoutineOp::kSort, "sort", kSortAttrs},
    {RoutineOp::kTopk, "topk", kTopkAttrs},
    {RoutineOp::kScatter, "scatter", kScatterAttrs},
    {RoutineOp::kScatterNd, "scatter_nd", kScatterNdAttrs},
    {RoutineOp::kConvert, "convert", kConvertAttrs},
};

const RoutineOpInfo& InfoOf(RoutineOp op) {
  const RoutineOpInfo* info = std::begin(kOps);
  while (info->op != op) ++info;
  return *info;
}

bool IsConstant(const AttrValue& value) {
  for (SymInt s : value.symints()) {
    if (!s.is_constant()) return false;
  }
  return true;
}

}  // namespace

std::optional<RoutineOp> FindRoutineOp(absl::string_view name) {
  for (const RoutineOpInfo& info : kOps) {
    if (name == info.name) return info.op;
  }
  return std::nullopt;
}

absl::string_view RoutineOpName(RoutineOp op) { return InfoOf(op).name; }

absl::Status CheckRoutineOp(RoutineOp op, const OpSchema* schema, const AttrList* attrs) {
  const RoutineOpInfo& info = InfoOf(op);
  if (schema == nullptr || attrs == nullptr ||
      attrs->size() != static_cast<int>(schema->attrs.size())) {
    return absl::UnimplementedError(absl::StrCat(info.name, " without its attributes"));
  }
  std::vector<ReadAttr> reads(info.attrs.begin(), info.attrs.end());
  if (info.own.has_value()) reads.push_back(*info.own);
  for (const ReadAttr& read : reads) {
    const int i = schema->FindAttr(read.name);
    const bool absent = read.optional && (i < 0 || !(*attrs)[i].present());
    const bool fits = i >= 0 && (*attrs)[i].Matches(read.kind) && IsConstant((*attrs)[i]);
    if (!fits && !absent) {
      return absl::UnimplementedError(
          absl::StrCat(info.name, " without a known attribute ", read.name));
    }
  }
  return absl::OkStatus();
}

bool RoutineAttrs::Has(absl::string_view name) const {
  return schema_->FindAttr(name) >= 0 && Attrs(schema_, attrs_).Has(name);
}
bool RoutineAttrs::Bool(absl::string_view name) const { return Attrs(schema_, attrs_).Bool(name); }
int64_t RoutineAttrs::Int(absl::string_view name) const { return Attrs(schema_, attrs_).Int(name); }
DType RoutineAttrs::Dtype(absl::string_view name) const {
  return Attrs(schema_, attrs_).Dtype(name);
}
double RoutineAttrs::Float(absl::string_view name) const {
  return Attrs(schema_, attrs_).Float(name);
}
std::optional<double> RoutineAttrs::OptionalFloat(absl::string_view name) const {
  const Attrs attrs(schema_, attrs_);
  return attrs.Has(name) ? std::optional<double>(attrs.Float(name)) : std::nullopt;
}
std::optional<int64_t> RoutineAttrs::OptionalInt(absl::string_view name) const {
  const Attrs attrs(schema_, attrs_);
  return attrs.Has(name) ? std::optional<int64_t>(attrs.Int(name)) : std::nullopt;
}
std::optional<int64_t> RoutineAttrs::OptionalSym(absl::string_view name) const {
  const Attrs attrs(schema_, attrs_);
  return attrs.Has(name) ? std::optional<int64_t>(attrs.Sym(name).value()) : std::nullopt;
}
SymInt RoutineAttrs::Sym(absl::string_view name) const { return Attrs(schema_, attrs_).Sym(name); }
absl::Span<const SymInt> RoutineAttrs::Syms(absl::string_view name) const {
  return Attrs(schema_, attrs_).Syms(name);
}
std::vector<int64_t> RoutineAttrs::Ints(absl::string_view name) const {
  return Attrs(schema_, attrs_).Ints(name);
}
const std::string& RoutineAttrs::Str(absl::string_view name) const {
  return Attrs(schema_, attrs_).Str(name);
}
const std::vector<std::string>& RoutineAttrs::Strs(absl::string_view name) const {
  return Attrs(schema_, attrs_).Strs(name);
}
const std::vector<double>& RoutineAttrs::Floats(absl::string_view name) const {
  return Attrs(schema_, attrs_).Floats(name);
}

}  // namespace weft::cpu
