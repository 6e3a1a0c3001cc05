// Convolution and its transpose.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/magnitude.h"
#include "base/status_macros.h"
#include "graph/sym/sym_int.h"

namespace weft::cpu {
namespace {

// [K, C / groups, kernel] as [groups, K / groups, C / groups, kernel]; for a transposed convolution
// [C, K / groups, kernel].
DnnTensor WeightsOf(const RunView& view, int64_t groups, bool transposed) {
  const DnnTensor plain = ImagesOf(view);
  DnnTensor t;
  t.dtype = plain.dtype;
  if (groups > 1) {
    t.dims = {groups};
    t.strides = {plain.strides[0] * (plain.dims[0] / groups)};
  }
  t.dims.insert(t.dims.end(), plain.dims.begin(), plain.dims.end());
  t.strides.insert(t.strides.end(), plain.strides.begin(), plain.strides.end());
  const size_t first = groups > 1 ? 1 : 0;
  t.dims[first] /= groups;
  if (transposed) {
    std::swap(t.dims[first], t.dims[first + 1]);
    std::swap(t.strides[first], t.strides[first + 1]);
  }
  return t;
}

// The values of numbers that are known when the step is prepared.
std::vector<int64_t> ValuesOf(absl::Span<const SymInt> numbers) {
  std::vector<int64_t> values;
  for (SymInt s : numbers) values.push_back(s.value());
  return values;
}

// A vector of channels as an operand of a post-op.
DnnTensor ChannelsOf(const RunView& view, int rank) {
  DnnTensor t;
  t.dtype = view.dtype;
  t.dims.assign(rank, 1);
  t.dims[1] = view.numel();
  t.strides.assign(rank, 1);
  t.strides[0] = view.numel();
  return t;
}

// A view that broadcasts to the result.
DnnTensor BroadcastOf(const RunView& view, int rank) {
  RunView wide = view;
  wide.dims.insert(wide.dims.begin(), rank - view.rank(), 1);
  wide.strides.insert(wide.strides.begin(), rank - view.rank(), 1);
  for (int i = 0; i < rank; ++i) {
    if (wide.strides[i] == 0) wide.dims[i] = 1;
  }
  return ImagesOf(wide);
}

// Translates the epilogue to post-ops, and lists the slots of their operands.
absl::Status AddEpilogue(const LibraryStep& step, int* bias, std::vector<int>* slots,
                         std::vector<DnnPostOp>* post_ops) {
  const int rank = step.result.rank();
  for (const Epilogue& e : step.epilogue) {
    DnnPostOp post;
    if (e.kind == Epilogue::Kind::kBias) {
      if (*bias < 0 && post_ops->empty() && !IsNarrow(step.result.dtype)) {
        *bias = e.arg;
        continue;
      }
      post.function = DnnFunction::kAdd;
      post.operand = ChannelsOf(step.args[e.arg], rank);
    } else if (e.arg >= 0 && e.arg == step.replaced) {
      post.function = DnnFunction::kAccumulate;
    } else {
      post = PostOpOf(e);
      if (post.function >= DnnFunction::kAdd) {
        post.operand = BroadcastOf(step.args[e.arg], rank);
      }
    }
    if (post.function == DnnFunction::kNone) return absl::UnimplementedError("an epilogue");
    if (post.function >= DnnFunction::kAdd) {
      if (!HasPositiveStrides(post.operand)) return absl::UnimplementedError("a stride");
      slots->push_back(e.arg);
    }
    post_ops->push_back(post);
  }
  return absl::OkStatus();
}

// Most products that are added up for one element.
int64_t SumLength(const DnnConvolution& c) {
  const size_t groups = c.weights.dims.size() - c.x.dims.size();
  int64_t length = 1;
  for (size_t i = groups + 1; i < c.weights.dims.size(); ++i) length *= c.weights.dims[i];
  return length;
}

// True if the result is the channels of one pixel.
bool IsOnePixel(const DnnTensor& y) {
  int64_t pixels = y.dims[0];
  for (size_t i = 2; i < y.dims.size(); ++i) pixels *= y.dims[i];
  return pixels == 1;
}

// True if oneDNN's convolution over GEMM would read wrong elements of an operand with the result's
// sizes: that happens if the channels of several groups are adjacent in memory. Depthwise
// convolutions of images have routines of their own, of which that for AVX-512 reads the first
// vector of the operand again and again if the result is one pixel.
bool MisreadsOperands(const DnnConvolution& c) {
  const size_t groups = c.weights.dims.size() - c.x.dims.size();
  if (groups == 0 || c.y.strides[1] != 1) return false;
  const bool depthwise = c.weights.dims[1] == 1 && c.weights.dims[2] == 1;
  if (depthwise && c.x.dims.size() == 4 && !IsOnePixel(c.y)) return false;
  return std::any_of(c.post_ops.begin(), c.post_ops.end(), [&](const DnnPostOp& op) {
    const auto& dims = op.operand.dims;
    return op.function >= DnnFunction::kAdd &&
           std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d != 1; });
  });
}

// True for images of bf16 whose points have an odd number of channels. oneDNN multiplies pairs of
// them, the last one with what lies behind it and a weight of zero, which is NaN where that is not
// finite.
bool ReadsBehindPoints(const DnnConvolution& c) {
  const bool grouped = c.weights.dims.size() > c.x.dims.size();
  return !grouped && c.x.dtype == DType::kBF16 && c.x.strides[1] == 1 && c.x.dims[1] % 2 != 0;
}

// Each element of an image is read for a window of results of one group.
ProductSize SizeOf(const DnnConvolution& c, const DnnConstant& constant) {
  const size_t groups = c.weights.dims.size() - c.x.dims.size();
  ProductSize size;
  size.rows = c.x.dims[0];
  for (size_t i = 2; i < c.x.dims.size(); ++i) size.rows *= c.x.dims[i];
  size.sums = c.weights.dims[groups];
  size.length = SumLength(c);
  size.constant = constant.known();
  return size;
}

}  // namespace

absl::StatusOr<DnnConvolution> DescribeConvolution(const LibraryStep& step,
                                                   std::vector<int>* all_slots) {
  const ConvolutionAttrs convolution(step.schema, step.attrs);
  const int n = step.result.rank() - 2;
  DnnConvolution c;
  c.transposed = convolution.transposed();
  c.stride = ValuesOf(convolution.stride());
  c.dilation = ValuesOf(convolution.dilation());
  const std::vector<int64_t> padding = ValuesOf(convolution.padding());
  const std::vector<int64_t> extra = ValuesOf(convolution.output_padding());
  for (int i = 0; i < n; ++i) {
    c.before.push_back(padding[i]);
    c.after.push_back(padding[static_cast<int>(padding.size()) == n ? i : n + i]);
    if (!extra.empty()) c.after.back() -= extra[i];
    if (padding[i] < 0 || (c.after.back() < 0 && !c.transposed)) {
      return absl::UnimplementedError("a convolution that crops");
    }
  }
  if (step.result.numel() == 0 || step.args[0].numel() == 0 || step.args[1].numel() == 0) {
    return absl::UnimplementedError("an empty convolution");
  }
  c.x = ImagesOf(step.args[0]);
  c.weights = WeightsOf(step.args[1], convolution.groups().value(), c.transposed);
  c.y = ImagesOf(step.result);
  std::vector<int>& slots = *all_slots;
  slots = {0, 1, -1, -1};
  int bias = step.args[2].present() && !c.transposed ? 2 : -1;
  WEFT_RETURN_IF_ERROR(AddEpilogue(step, &bias, all_slots, &c.post_ops));
  if (bias >= 0) {
    if (!step.args[bias].dense()) return absl::UnimplementedError("a bias with gaps");
    slots[kDnnBias] = bias;
    c.bias = {step.args[bias].dtype, {step.args[bias].numel()}, {1}};
  }
  if (!HasPositiveStrides(c.x) || !HasPositiveStrides(c.weights) || !HasPositiveStrides(c.y)) {
    return absl::UnimplementedError("a stride");
  }
  return c;
}

namespace {

// True if a window may reach beyond the image.
bool HasPadding(const DnnConvolution& c) {
  const auto is_positive = [](int64_t p) { return p > 0; };
  return std::any_of(c.before.begin(), c.before.end(), is_positive) ||
         std::any_of(c.after.begin(), c.after.end(), is_positive);
}

// The op adds nothing where no pixel reaches; GEMM multiplies a zero there.
LibraryCallOr MakeTransposedGemm(const LibraryStep& step, const DnnConvolution& c,
                                 const std::vector<int>& slots, const DnnConstant& constant,
                                 const LibraryContext& context) {
  WEFT_ASSIGN_OR_RETURN(auto call, MakeTransposedCall(c, slots, constant, context));
  const void* weights = constant.load ? constant.load() : constant.data;
  if (MagnitudeScan(step.args[1]).Run(weights, context.isa, context.threads) == kUnbounded) {
    return absl::UnimplementedError("weights that are not finite");
  }
  return call;
}

// The bias of a transposed convolution is not taken.
LibraryCallOr MakeBareConvolution(const LibraryStep& step, const LibraryContext& context) {
  std::vector<int> slots;
  WEFT_ASSIGN_OR_RETURN(DnnConvolution c, DescribeConvolution(step, &slots));
  const DnnConstant constant = ConstantOf(step, 1, context);
  DnnReading reading = ChooseReading(step, SizeOf(c, constant), context);
  SumOfProducts sum = {slots, static_cast<double>(SumLength(c)), c.post_ops};
  auto depthwise = MakeBf16DepthwiseCall(c, slots, constant, context);
  if (depthwise.ok()) return depthwise;
  if (!c.transposed || reading.dtype == DType::kF32) {
    auto gemm = c.transposed ? MakeTransposedGemm(step, c, slots, constant, context)
                             : MakeGemmCall(c, reading, slots, constant, context);
    sum.keeps_nan = true;
    if (gemm.ok()) return GuardMagnitudes(*std::move(gemm), sum, step, context);
    sum.keeps_nan = false;
  }
  if (ReadsBehindPoints(c)) {
    return absl::UnimplementedError("an odd number of channels of bf16");
  }
  if (MisreadsOperands(c)) return absl::UnimplementedError("an operand beside groups of channels");
  WEFT_RETURN_IF_ERROR(CheckTaken(step, sum, c.y, 1));
  sum.skips_padding = !c.transposed && HasPadding(c);
  WEFT_ASSIGN_OR_RETURN(auto call, MakeDnnCall(c, std::move(slots), std::move(reading),
                                               [&](const DnnConvolution& made) {
                                                 return MakeConvolution(made, constant);
                                               }));
  return GuardMagnitudes(std::move(call), sum, step, context);
}

}  // namespace

// oneDNN's transposed convolutions add the bias and apply post-ops element by element, after a
// convolution that is many times faster: here a kernel does so.
LibraryCallOr MakeConvolutionCall(const LibraryStep& step, const LibraryContext& context) {
  const bool biased = step.args[2].present();
  if (!ConvolutionAttrs(step.schema, step.attrs).transposed() ||
      (!biased && step.epilogue.empty())) {
    return MakeBareConvolution(step, context);
  }
  std::vector<Epilogue> epilogue;
  if (biased) {
    epilogue.emplace_back();
    epilogue.back().kind = Epilogue::Kind::kBias;
    epilogue.back().arg = 2;
  }
  epilogue.insert(epilogue.end(), step.epilogue.begin(), step.epilogue.end());
  LibraryStep followed = step;
  followed.epilogue = epilogue;
  return ApplyEpilogue(followed, 0, context, MakeBareConvolution);
}

}  // namespace weft::cpu
