// Matrix products: matmul and linear.
#include <algorithm>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/magnitude.h"
#include "base/status_macros.h"
#include "lowering/plan_ops.h"

namespace weft::cpu {
namespace {

// Numbers of the operands of a matmul: a, b, the result, then those of the epilogue.
constexpr int kA = 0;
constexpr int kB = 1;
constexpr int kY = 2;
constexpr int kFixed = 3;

// One loop of the matmul with the stride of each operand.
struct Loop {
  int64_t size = 1;
  std::vector<int64_t> strides;  // 0: the operand does not depend on the loop.
};

struct Product {
  std::vector<Loop> batch;
  Loop m, n, k;
};

// The view's stride along dim `dim` of the result's `rank` dims; 0 where it broadcasts.
int64_t BroadcastStride(const RunView& view, int dim, int rank) {
  const int own = dim - (rank - view.rank());
  return own < 0 || view.dims[own] == 1 ? 0 : view.strides[own];
}

int64_t Last(const std::vector<int64_t>& v, int from_end) {
  return static_cast<int>(v.size()) < from_end ? 0 : v[v.size() - from_end];
}

// The result's dims are batch..., m (absent if `a` is a vector), n (absent if `b` is one).
Product Describe(const LibraryStep& step, const std::vector<const RunView*>& extra) {
  const RunView& a = step.args[0];
  const RunView& b = step.args[1];
  const RunView& y = step.result;
  const bool linear = step.op == RoutineOp::kLinear;
  const bool has_m = a.rank() > 1;
  const bool has_n = linear || b.rank() > 1;
  const int rank = y.rank();
  const int batch = rank - has_m - has_n;
  const auto along = [&](int dim, int64_t of_a, int64_t of_b) {
    Loop loop;
    loop.size = dim < 0 ? 1 : y.dims[dim];
    const bool one = loop.size == 1;
    loop.strides = {one ? 0 : of_a, one ? 0 : of_b, one || dim < 0 ? 0 : y.strides[dim]};
    for (const RunView* view : extra) {
      loop.strides.push_back(one || dim < 0 ? 0 : BroadcastStride(*view, dim, rank));
    }
    return loop;
  };
  Product p;
  for (int d = 0; d < batch; ++d) {
    // The batch dims of both operands are aligned at the last one.
    const int a_dim = a.rank() - 2 - (batch - d);
    const int b_dim = linear ? -1 : b.rank() - 2 - (batch - d);
    const auto stride = [](const RunView& v, int dim) {
      return dim < 0 || v.dims[dim] == 1 ? 0 : v.strides[dim];
    };
    p.batch.push_back(along(d, stride(a, a_dim), stride(b, b_dim)));
  }
  p.m = along(has_m ? rank - 1 - has_n : -1, has_m ? Last(a.strides, 2) : 0, 0);
  const int64_t of_n = linear ? b.strides[0] : has_n ? Last(b.strides, 1) : 0;
  p.n = along(has_n ? rank - 1 : -1, 0, of_n);
  p.k.size = a.dims.back();
  p.k.strides.assign(p.m.strides.size(), 0);
  p.k.strides[kA] = a.strides.back();
  p.k.strides[kB] = linear ? b.strides[1] : has_n ? Last(b.strides, 2) : b.strides[0];
  return p;
}

// True if `outer` and `inner` can be joined to one loop.
bool Joins(const Loop& outer, const Loop& inner) {
  for (size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  }
  return true;
}

// Simplifies the batch loops: drops those of size 1, joins neighbours, and makes those that `b`
// does not depend on rows of `a`.
void Collapse(Product& p) {
  std::vector<Loop> batch;
  for (Loop& loop : p.batch) {
    if (loop.size == 1) continue;
    if (!batch.empty() && Joins(batch.back(), loop)) {
      loop.size *= batch.back().size;
      batch.back() = std::move(loop);
    } else {
      batch.push_back(std::move(loop));
    }
  }
  while (!batch.empty() && batch.back().strides[kB] == 0) {
    if (p.m.size == 1) {
      p.m = batch.back();
    } else if (Joins(batch.back(), p.m)) {
      p.m.size *= batch.back().size;
    } else {
      break;
    }
    batch.pop_back();
  }
  p.batch = std::move(batch);
}

// The operand as oneDNN takes it: [batch..., rows, columns], sizes of 1 broadcast.
DnnTensor TensorOf(const Product& p, DType dtype, int operand, const Loop& rows,
                   const Loop& columns) {
  DnnTensor t;
  t.dtype = dtype;
  std::vector<const Loop*> loops;
  for (const Loop& loop : p.batch) loops.push_back(&loop);
  loops.push_back(&rows);
  loops.push_back(&columns);
  for (const Loop* loop : loops) {
    const int64_t stride = loop->strides[operand];
    t.dims.push_back(stride == 0 ? 1 : loop->size);
    t.strides.push_back(stride);
  }
  for (size_t i = t.dims.size(); i-- > 0;) {
    if (t.dims[i] != 1 || t.strides[i] != 0) continue;
    t.strides[i] = i + 1 == t.dims.size() ? 1 : t.strides[i + 1] * t.dims[i + 1];
  }
  return t;
}

bool HasNegativeStride(const DnnTensor& t) {
  return std::any_of(t.strides.begin(), t.strides.end(), [](int64_t s) { return s < 0; });
}

// True if the op adds a vector along the last dim of the result.
bool IsBias(const LibraryStep& step, const Epilogue& e) {
  if (e.kind == Epilogue::Kind::kUnary) return false;
  if (e.kind == Epilogue::Kind::kBinary && !Applies(e, "add")) return false;
  const RunView& v = step.args[e.arg];
  const bool product = step.op == RoutineOp::kLinear || step.args[1].rank() > 1;
  return product && v.rank() > 0 && v.numel() == v.dims.back() && v.dense() &&
         v.dims.back() == step.result.dims.back();
}

}  // namespace

DnnReading ChooseReading(const LibraryStep& step, const ProductSize& size,
                         const LibraryContext& context) {
  const auto is_f32 = [](const RunView& view) {
    return !view.present() || view.dtype == DType::kF32;
  };
  // Rounding an element costs as much as some 32 products. Splitting into parts takes 1.5 times the
  // memory; with few rows per weight, reading the weights dominates the time.
  constexpr int64_t kMinUses = 32;
  const bool split = !context.reading.x_parts.empty();
  const bool pays = size.sums >= kMinUses && (size.constant || size.rows >= kMinUses) &&
                    (!split || size.rows >= 64);
  const int64_t min_length = split ? 64 : 16;
  const bool all_f32 =
      is_f32(step.result) && std::all_of(step.args.begin(), step.args.end(), is_f32);
  return pays && all_f32 && size.length >= min_length ? context.reading : DnnReading();
}

absl::StatusOr<DnnMatmul> DescribeProduct(const LibraryStep& step, std::vector<int>* all_slots,
                                          int64_t* rows) {
  if (step.result.numel() == 0 || step.args[0].dims.back() == 0) {
    return absl::UnimplementedError("an empty product");
  }
  std::vector<int>& slots = *all_slots;
  slots = {0, 1, -1, -1};
  std::vector<const RunView*> extra;
  std::vector<DnnPostOp> post_ops;
  int bias = step.op == RoutineOp::kLinear && step.args[2].present() ? 2 : -1;
  for (const Epilogue& e : step.epilogue) {
    const bool accumulates = e.arg >= 0 && e.arg == step.replaced;
    const bool rounds = IsNarrow(step.result.dtype);
    if (bias < 0 && post_ops.empty() && !accumulates && !rounds && IsBias(step, e)) {
      bias = e.arg;
      continue;
    }
    DnnPostOp post;
    if (accumulates) {
      post.function = DnnFunction::kAccumulate;
    } else if (e.kind == Epilogue::Kind::kBias) {
      post.function = DnnFunction::kAdd;
    } else {
      post = PostOpOf(e);
    }
    if (post.function == DnnFunction::kNone) return absl::UnimplementedError("an epilogue");
    if (post.function >= DnnFunction::kAdd) {
      extra.push_back(&step.args[e.arg]);
      slots.push_back(e.arg);
    }
    post_ops.push_back(post);
  }
  Product p = Describe(step, extra);
  Collapse(p);
  if (p.k.size > 1 && (p.k.strides[kA] == 0 || p.k.strides[kB] == 0)) {
    return absl::UnimplementedError("an operand that is expanded along the sum");
  }
  DnnMatmul m;
  const DType dtype = step.result.dtype;
  m.a = TensorOf(p, step.args[0].dtype, kA, p.m, p.k);
  m.b = TensorOf(p, step.args[1].dtype, kB, p.k, p.n);
  m.y = TensorOf(p, dtype, kY, p.m, p.n);
  // With a depth of 1 the stride along it is arbitrary; it is chosen so that it does not seem to
  // overlap the stride of adjacent rows.
  m.a.dims.back() = m.b.dims[m.b.dims.size() - 2] = p.k.size;
  if (p.k.size == 1) {
    const size_t rows_dim = m.a.dims.size() - 2;
    m.a.strides.back() = m.a.strides[rows_dim] == 1 ? m.a.dims[rows_dim] : 1;
  }
  int next = kFixed;
  for (DnnPostOp& post : post_ops) {
    if (post.function < DnnFunction::kAdd) continue;
    post.operand = TensorOf(p, extra[next - kFixed]->dtype, next, p.m, p.n);
    if (HasNegativeStride(post.operand)) return absl::UnimplementedError("a negative stride");
    ++next;
  }
  m.post_ops = std::move(post_ops);
  if (bias >= 0) {
    slots[kDnnBias] = bias;
    m.bias.dtype = step.args[bias].dtype;
    m.bias.dims.assign(m.y.dims.size(), 1);
    m.bias.dims.back() = m.y.dims.back();
    m.bias.strides.assign(m.y.dims.size(), m.y.dims.back());
    m.bias.strides.back() = 1;
    if (!step.args[bias].dense()) return absl::UnimplementedError("a bias with gaps");
  }
  if (HasNegativeStride(m.a) || HasNegativeStride(m.b) || HasNegativeStride(m.y)) {
    return absl::UnimplementedError("a negative stride");
  }
  *rows = p.m.size;
  return m;
}

LibraryCallOr MakeProductCall(const LibraryStep& step, const LibraryContext& context) {
  std::vector<int> slots;
  int64_t rows = 0;
  WEFT_ASSIGN_OR_RETURN(DnnMatmul m, DescribeProduct(step, &slots, &rows));
  const DnnConstant constant = ConstantOf(step, 1, context);
  const ProductSize size = {rows, m.y.dims.back(), m.a.dims.back(), constant.known()};
  DnnReading reading = ChooseReading(step, size, context);
  auto gemm = MakeGemmCall(m, reading, slots, constant, context);
  if (gemm.ok()) return gemm;
  const SumOfProducts sum = {slots, static_cast<double>(m.a.dims.back()), m.post_ops};
  WEFT_RETURN_IF_ERROR(CheckTaken(step, sum, m.y, static_cast<int>(m.y.dims.size()) - 1));
  WEFT_ASSIGN_OR_RETURN(
      auto call, MakeDnnCall(m, std::move(slots), std::move(reading),
                             [&](const DnnMatmul& made) { return MakeMatmul(made, constant); }));
  // Scanning operands is cheap beside a matmul, so bounds from earlier steps are not required.
  if (KeepsNan(sum.post_ops)) return call;
  return GuardMagnitudes(std::move(call), sum, step, context);
}

}  // namespace weft::cpu
