// Convolution, its transpose, and pooling.
#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/cpu/library_internal.h"
#include "graph/core/status_macros.h"
#include "graph/ops/ops.h"

namespace weft::cpu {
namespace {

// Dims in the order that they lie in dense memory, outermost first.
std::vector<int64_t> StridesInOrder(const std::vector<int64_t>& dims,
                                    const std::vector<int>& order) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = stride;
    stride *= dims[order[k]];
  }
  return strides;
}

// The strides of dims with more than one element are those.
bool Matches(const DnnTensor& t, const std::vector<int64_t>& strides) {
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] != 1 && t.strides[i] != strides[i]) return false;
  }
  return true;
}

// Strides of single elements say nothing. They become those of a layout that the others
// fit, so that primitives recognise it: channels-last, row-major, or one of its own.
DnnTensor TensorOf(const RunView& view) {
  DnnTensor t{view.dtype, view.dims, view.strides};
  std::vector<int> order(t.dims.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> row_major = StridesInOrder(t.dims, order);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  const std::vector<int64_t> channels_last = StridesInOrder(t.dims, order);
  if (Matches(t, channels_last)) {
    t.strides = channels_last;
  } else if (Matches(t, row_major)) {
    t.strides = row_major;
  } else {
    for (size_t i = t.dims.size(); i-- > 0;) {
      if (t.dims[i] != 1) continue;
      t.strides[i] = i + 1 == t.dims.size() ? 1 : t.strides[i + 1] * t.dims[i + 1];
    }
  }
  return t;
}

bool Positive(const DnnTensor& t) {
  return std::all_of(t.strides.begin(), t.strides.end(), [](int64_t s) { return s > 0; });
}

// [K, C / groups, kernel] as [groups, K / groups, C / groups, kernel]; of a transposed
// convolution [C, K / groups, kernel].
DnnTensor WeightsOf(const RunView& view, int64_t groups, bool transposed) {
  const DnnTensor plain = TensorOf(view);
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

// A view that broadcasts against the result.
DnnTensor BroadcastOf(const RunView& view, int rank) {
  RunView wide = view;
  wide.dims.insert(wide.dims.begin(), rank - view.rank(), 1);
  wide.strides.insert(wide.strides.begin(), rank - view.rank(), 1);
  for (int i = 0; i < rank; ++i) {
    if (wide.strides[i] == 0) wide.dims[i] = 1;
  }
  return TensorOf(wide);
}

// Post-ops and their operands' slots.
absl::Status AddEpilogue(const LibraryStep& step, int* bias, std::vector<int>* slots,
                         std::vector<DnnPostOp>* post_ops) {
  const int rank = step.result.rank();
  for (const Epilogue& e : *step.epilogue) {
    DnnPostOp post;
    if (e.kind == Epilogue::Kind::kBias) {
      if (*bias < 0 && post_ops->empty()) {
        *bias = e.arg;
        continue;
      }
      post.function = DnnFunction::kAdd;
      post.operand = ChannelsOf(step.args[e.arg], rank);
    } else if (e.arg >= 0 && e.arg == step.replaced) {
      post.function = DnnFunction::kAccumulate;
    } else {
      post = PostOpOf(*e.op, e.attrs);
      if (post.function >= DnnFunction::kAdd) {
        post.operand = BroadcastOf(step.args[e.arg], rank);
      }
    }
    if (post.function == DnnFunction::kNone) return absl::UnimplementedError("an epilogue");
    if (post.function >= DnnFunction::kAdd) {
      if (!Positive(post.operand)) return absl::UnimplementedError("a stride");
      slots->push_back(e.arg);
    }
    post_ops->push_back(post);
  }
  return absl::OkStatus();
}

// Of a group: each element of the image is read for the results of a window.
ProductSize SizeOf(const DnnConvolution& c, const DnnConstant& constant) {
  const size_t groups = c.weights.dims.size() - c.x.dims.size();
  int64_t window = 1;
  for (size_t i = groups + 2; i < c.weights.dims.size(); ++i) window *= c.weights.dims[i];
  ProductSize size;
  size.rows = c.x.dims[0];
  for (size_t i = 2; i < c.x.dims.size(); ++i) size.rows *= c.x.dims[i];
  size.sums = c.weights.dims[groups];
  size.length = c.weights.dims[groups + 1] * window;
  size.constant = constant.known();
  return size;
}

}  // namespace

absl::StatusOr<DnnConvolution> DescribeConvolution(const LibraryStep& step,
                                                   std::vector<int>* all_slots) {
  const Attrs attrs(&step.op->schema(), step.attrs);
  const int n = step.result.rank() - 2;
  DnnConvolution c;
  c.transposed = attrs.Bool("transposed");
  c.stride = attrs.Ints("stride");
  c.dilation = attrs.Ints("dilation");
  const std::vector<int64_t> padding = attrs.Ints("padding");
  const std::vector<int64_t> extra = attrs.Ints("output_padding");
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
  c.x = TensorOf(step.args[0]);
  c.weights = WeightsOf(step.args[1], attrs.Sym("groups").value(), c.transposed);
  c.y = TensorOf(step.result);
  std::vector<int>& slots = *all_slots;
  slots = {0, 1, -1, -1};
  int bias = step.args[2].present() ? 2 : -1;
  WEFT_RETURN_IF_ERROR(AddEpilogue(step, &bias, all_slots, &c.post_ops));
  if (bias >= 0) {
    if (!step.args[bias].dense()) return absl::UnimplementedError("a bias with gaps");
    slots[kDnnBias] = bias;
    c.bias = {step.args[bias].dtype, {step.args[bias].numel()}, {1}};
  }
  if (!Positive(c.x) || !Positive(c.weights) || !Positive(c.y)) {
    return absl::UnimplementedError("a stride");
  }
  return c;
}

LibraryCallOr MakeConvolutionCall(const LibraryStep& step, const LibraryContext& context) {
  std::vector<int> slots;
  WEFT_ASSIGN_OR_RETURN(DnnConvolution c, DescribeConvolution(step, &slots));
  const DnnConstant constant = ConstantOf(step, 1, context);
  DnnReading reading = ChooseReading(step, SizeOf(c, constant), context);
  if (reading.dtype == DType::kF32) {
    auto gemm = MakeGemmCall(c, slots, constant, context);
    if (gemm.ok()) return gemm;
  }
  return MakeDnnCall(c, std::move(slots), std::move(reading),
                     [&](const DnnConvolution& made) { return MakeConvolution(made, constant); });
}

LibraryCallOr MakePoolingCall(const LibraryStep& step, const LibraryContext& context) {
  const Attrs attrs(&step.op->schema(), step.attrs);
  const int n = step.result.rank() - 2;
  DnnPooling p;
  p.kind = step.op == &ops::max_pool         ? DnnPooling::Kind::kMaximum
           : attrs.Bool("count_include_pad") ? DnnPooling::Kind::kAverageWithPadding
                                             : DnnPooling::Kind::kAverage;
  p.kernel = attrs.Ints("kernel_size");
  p.stride = attrs.Ints("stride");
  const std::vector<int64_t> padding = attrs.Ints("padding");
  for (int64_t d : attrs.Ints("dilation")) {
    if (d != 1) return absl::UnimplementedError("pooling with dilation");
  }
  if (step.result.numel() == 0 || !step.epilogue->empty()) {
    return absl::UnimplementedError("such a pooling");
  }
  for (int i = 0; i < n; ++i) {
    p.before.push_back(padding[i]);
    const int64_t after = padding[static_cast<int>(padding.size()) == n ? i : n + i];
    // Windows that hang over the end: padding that is not counted.
    const int64_t last = (step.result.dims[2 + i] - 1) * p.stride[i] + p.kernel[i];
    const int64_t needed = last - step.args[0].dims[2 + i] - padding[i];
    if (needed > after && p.kind == DnnPooling::Kind::kAverageWithPadding) {
      return absl::UnimplementedError("a window over the end");
    }
    p.after.push_back(std::max<int64_t>(needed, 0));
    if (p.before[i] >= p.kernel[i] || needed >= p.kernel[i]) {
      return absl::UnimplementedError("a window of padding");
    }
  }
  p.x = TensorOf(step.args[0]);
  p.y = TensorOf(step.result);
  if (!Positive(p.x) || !Positive(p.y)) return absl::UnimplementedError("a stride");
  WEFT_ASSIGN_OR_RETURN(auto op, MakePooling(p));
  return std::make_unique<DnnCall>(std::move(op), std::vector<int>{0, -1, -1, -1});
}

}  // namespace weft::cpu
