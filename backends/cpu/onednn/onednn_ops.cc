// The oneDNN primitives that Weft uses.
#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "backends/cpu/onednn/onednn_cache.h"
#include "backends/cpu/onednn/onednn_internal.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

bool IsReference(const dnnl::primitive_desc_base& pd) {
  return absl::StartsWith(pd.impl_info_str(), "ref");
}

// The first fast one of several primitive descriptors, else the first that exists.
template <typename PD>
class Choice {
 public:
  // Without those that `refuses` is true for.
  template <typename Fn>
  explicit Choice(Fn refuses) : refuses_(std::move(refuses)) {}
  Choice() = default;

  // `make` may throw.
  template <typename Fn>
  bool Try(Fn make) {
    if (fast_) return true;
    try {
      PD pd = make();
      if (refuses_ && refuses_(pd)) return false;
      const bool fast = !IsReference(pd);
      if (!found_ || fast) pd_ = std::move(pd);
      found_ = true;
      fast_ = fast;
    } catch (const dnnl::error&) {
    }
    return fast_;
  }
  bool found() const { return found_; }
  const PD& pd() const { return pd_; }

 private:
  std::function<bool(const PD&)> refuses_;
  PD pd_;
  bool found_ = false;
  bool fast_ = false;
};

absl::Status NoPrimitive(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("oneDNN has no such ", what));
}

// The operands of a matmul or convolution, and how each is read.
struct Operands {
  const DnnTensor& x;
  const DnnTensor& weights;
  const DnnTensor& bias;
  const DnnTensor& y;
  DnnOperandReading of_x, of_weights;

  bool given() const { return of_x.given(x); }
  DnnTensor ReadX() const { return ReadAs(x, of_x); }
  DnnTensor ReadWeights() const { return ReadAs(weights, of_weights); }
};

// Sets how operands are read: i32 as u8 or i8, weights as i8.
void Read(const DnnReading& reading, int x_dim, int weight_dim, int64_t length, Operands* o) {
  const bool bf16 = reading.dtype == DType::kBF16 && o->x.dtype == DType::kF32;
  const bool integers = o->x.dtype == DType::kI32 && reading.dtype != DType::kF32;
  o->of_x = {bf16 || integers ? reading.dtype : o->x.dtype, reading.x_parts, x_dim, length};
  o->of_weights = {bf16       ? reading.dtype
                   : integers ? DType::kI8
                              : o->weights.dtype,
                   reading.weight_parts, weight_dim, length};
}

template <typename Primitive, typename PD>
std::unique_ptr<DnnOp::Impl> Assemble(const PD& pd, const Operands& o,
                                      const std::vector<DnnPostOp>& post_ops,
                                      const DnnConstant& constant) {
  auto impl = std::make_unique<DnnOp::Impl>();
  impl->AddOperand(kDnnSource, DNNL_ARG_SRC, PathOf(o.x, pd.src_desc(), o.of_x));
  impl->AddWeights(PathOf(o.weights, pd.weights_desc(), o.of_weights), constant);
  if (!o.bias.dims.empty()) {
    impl->AddOperand(kDnnBias, DNNL_ARG_BIAS, PathOf(o.bias, DescOf(o.bias)));
  }
  impl->AddResult(DescOf(o.y), pd.dst_desc());
  impl->AddPostOps(post_ops, o.y);
  impl->Finish(pd, Primitive(pd));
  return impl;
}

Operands OperandsOf(const DnnMatmul& m) {
  const int rank = static_cast<int>(m.a.dims.size());
  const int64_t k = m.a.dims.back();
  Operands o = {m.a, m.b, m.bias, m.y, {}, {}};
  Read(m.reading, rank - 1, rank - 2, k, &o);
  return o;
}

// The depth of a convolution is the channels of a group.
Operands OperandsOf(const DnnConvolution& c) {
  const int channels = static_cast<int>(c.weights.dims.size() - c.x.dims.size()) + 1;
  const int64_t length = c.weights.dims[channels];
  Operands o = {c.x, c.weights, c.bias, c.y, {}, {}};
  Read(c.reading, 1, channels, length, &o);
  return o;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DnnOp>> MakeMatmul(const DnnMatmul& m, const DnnConstant& constant) {
  std::unique_ptr<DnnOp::Impl> impl;
  WEFT_RETURN_IF_ERROR(Catch([&] {
    using PD = dnnl::matmul::primitive_desc;
    const dnnl::primitive_attr attr = MakeAttr(m.post_ops, m.y);
    const DnnDesc bias = DescOf(m.bias);
    const auto make = [&](const DnnDesc& a, const DnnDesc& b, const DnnDesc& y) {
      return CachedDescriptor<PD>(
          DnnKey().Add(a).Add(b).Add(bias).Add(y).Add(m.y.strides).Add(m.post_ops), [&] {
            return PD(m.bias.dims.empty() ? dnnl::matmul::desc(a, b, y)
                                          : dnnl::matmul::desc(a, b, bias, y),
                      attr, TheDnnMachine().engine);
          });
    };
    const Operands operands = OperandsOf(m);
    const DnnDesc a = DescOf(operands.ReadX());
    const DnnDesc b = DescOf(operands.ReadWeights());
    const DnnDesc free_b = FreeDescOf(operands.ReadWeights());
    const DnnDesc y = DescOf(m.y);
    // Its gemm adds zero times the element to a sum of one product of bf16: NaN for infinity.
    const bool one_product = m.a.dims.back() == 1 && operands.of_x.dtype == DType::kBF16;
    Choice<PD> choice(
        [&](const PD& pd) { return one_product && absl::StartsWith(pd.impl_info_str(), "gemm"); });
    if (constant.known()) {
      const DnnDesc* packed = PackedLayout(constant, DescOf(m.b), operands.of_weights);
      if (packed != nullptr) choice.Try([&] { return make(a, *packed, y); });
      choice.Try([&] { return make(a, free_b, y); });
    }
    choice.Try([&] { return make(a, b, y); });
    if (operands.given())
      choice.Try([&] { return make(FreeDescOf(m.a), free_b, FreeDescOf(m.y)); });
    if (!choice.found() || (!operands.given() && IsReference(choice.pd()))) {
      return NoPrimitive("product");
    }
    impl = Assemble<dnnl::matmul>(choice.pd(), operands, m.post_ops, constant);
    return absl::OkStatus();
  }));
  return std::make_unique<DnnOp>(std::move(impl));
}

namespace {

// Chooses a convolution. Fast primitives take activations as given, channels last, or in a layout
// of their choice. GEMM over im2col is the last resort.
template <typename PD, typename Fn>
Choice<PD> ChooseConvolution(const DnnConvolution& c, const DnnConstant& constant, Fn make) {
  const Operands operands = OperandsOf(c);
  const DnnDesc x = DescOf(operands.ReadX());
  const DnnDesc y = DescOf(c.y);
  const DnnDesc any = FreeDescOf(operands.ReadWeights());
  const auto not_gemm = [&](const DnnDesc& src, const DnnDesc& w, const DnnDesc& dst) {
    PD pd = make(src, w, dst);
    if (absl::StrContains(absl::string_view(pd.impl_info_str()), "gemm")) {
      throw dnnl::error(dnnl_unimplemented, "a product over im2col");
    }
    return pd;
  };
  // Those multiply pairs of channels, the last one of an odd number with what lies behind it and a
  // weight of zero: NaN where that is not finite.
  const bool odd = operands.of_x.dtype == DType::kBF16 && operands.of_x.length % 2 != 0;
  Choice<PD> choice(
      [odd](const PD& pd) { return odd && absl::StartsWith(pd.impl_info_str(), "brg"); });
  const DnnDesc* packed = PackedLayout(constant, DescOf(c.weights), operands.of_weights);
  if (packed != nullptr) choice.Try([&] { return not_gemm(x, *packed, y); });
  choice.Try([&] { return not_gemm(x, any, y); });
  choice.Try([&] { return not_gemm(x, any, ChannelsLastDescOf(c.y)); });
  if (!operands.given()) return choice;
  choice.Try([&] { return not_gemm(ChannelsLastDescOf(c.x), any, ChannelsLastDescOf(c.y)); });
  choice.Try([&] { return not_gemm(FreeDescOf(c.x), any, FreeDescOf(c.y)); });
  choice.Try([&] { return make(x, any, y); });
  choice.Try([&] { return make(FreeDescOf(c.x), any, FreeDescOf(c.y)); });
  return choice;
}

std::vector<int64_t> MinusOne(std::vector<int64_t> values) {
  for (int64_t& v : values) --v;
  return values;
}

template <typename Primitive, typename Algorithm>
absl::Status MakeConvolutionAs(const DnnConvolution& c, const DnnConstant& constant,
                               Algorithm algorithm, std::unique_ptr<DnnOp::Impl>* impl) {
  using PD = typename Primitive::primitive_desc;
  const dnnl::primitive_attr attr = MakeAttr(c.post_ops, c.y);
  const DnnDesc bias = DescOf(c.bias);
  const std::vector<int64_t> dilation = MinusOne(c.dilation);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto make = [&](const DnnDesc& x, const DnnDesc& w, const DnnDesc& y) {
    const auto desc = c.bias.dims.empty()
                          ? typename Primitive::desc(kind, algorithm, x, w, y, c.stride, dilation,
                                                     c.before, c.after)
                          : typename Primitive::desc(kind, algorithm, x, w, bias, y, c.stride,
                                                     dilation, c.before, c.after);
    return PD(desc, attr, TheDnnMachine().engine);
  };
  const Choice<PD> choice = ChooseConvolution<PD>(c, constant, make);
  const Operands operands = OperandsOf(c);
  if (!choice.found() || (!operands.given() && IsReference(choice.pd()))) {
    return NoPrimitive("convolution");
  }
  *impl = Assemble<Primitive>(choice.pd(), operands, c.post_ops, constant);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DnnOp>> MakeConvolution(const DnnConvolution& c,
                                                       const DnnConstant& constant) {
  std::unique_ptr<DnnOp::Impl> impl;
  WEFT_RETURN_IF_ERROR(Catch([&] {
    return c.transposed ? MakeConvolutionAs<dnnl::deconvolution_forward>(
                              c, constant, dnnl::algorithm::deconvolution_direct, &impl)
                        : MakeConvolutionAs<dnnl::convolution_forward>(
                              c, constant, dnnl::algorithm::convolution_direct, &impl);
  }));
  return std::make_unique<DnnOp>(std::move(impl));
}

absl::StatusOr<std::unique_ptr<DnnOp>> MakePooling(const DnnPooling& p) {
  std::unique_ptr<DnnOp::Impl> impl;
  WEFT_RETURN_IF_ERROR(Catch([&] {
    using PD = dnnl::pooling_forward::primitive_desc;
    const auto algorithm = p.kind == DnnPooling::Kind::kMaximum ? dnnl::algorithm::pooling_max
                           : p.kind == DnnPooling::Kind::kAverage
                               ? dnnl::algorithm::pooling_avg_exclude_padding
                               : dnnl::algorithm::pooling_avg_include_padding;
    const dnnl::primitive_attr attr = MakeAttr({}, p.y);
    const auto make = [&](const DnnDesc& x, const DnnDesc& y) {
      return PD(dnnl::pooling_forward::desc(dnnl::prop_kind::forward_inference, algorithm, x, y,
                                            p.stride, p.kernel, p.before, p.after),
                attr, TheDnnMachine().engine);
    };
    Choice<PD> choice;
    choice.Try([&] { return make(DescOf(p.x), DescOf(p.y)); });
    choice.Try([&] { return make(ChannelsLastDescOf(p.x), ChannelsLastDescOf(p.y)); });
    if (!choice.found()) return NoPrimitive("pooling");
    impl = std::make_unique<DnnOp::Impl>();
    const PD& pd = choice.pd();
    impl->AddOperand(kDnnSource, DNNL_ARG_SRC, PathOf(p.x, pd.src_desc()));
    impl->AddResult(DescOf(p.y), pd.dst_desc());
    impl->Finish(pd, dnnl::pooling_forward(pd));
    return absl::OkStatus();
  }));
  return std::make_unique<DnnOp>(std::move(impl));
}

}  // namespace weft::cpu
