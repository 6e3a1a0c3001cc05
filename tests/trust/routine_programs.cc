#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "tests/trust/schema_programs.h"

namespace weft::trust {
namespace {

// Multiplications of the reference executor that one routine may take.
constexpr int64_t kMaxWork = 1 << 20;

// Around what vectors and tiles hold; 0 and 1 rarely.
int64_t Size(Random& random) {
  if (random.OneIn(40)) return 0;
  if (random.OneIn(6)) return 1;
  return random.Of<int64_t>({2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65});
}

int64_t Small(Random& random) { return random.OneIn(40) ? 0 : random.Pick(1, 4); }

void Limit(Dims* dims, int64_t limit) {
  while (NumElements(*dims) > limit) {
    auto largest = std::max_element(dims->begin(), dims->end());
    *largest = *largest / 2;
  }
}

// Dims before the last two, which broadcast to `batch`.
Dims BatchPart(const Dims& batch, Random& random) {
  Dims part = batch;
  for (int64_t& d : part) {
    if (random.OneIn(5)) d = 1;
  }
  if (random.OneIn(4)) part.erase(part.begin(), part.begin() + random.Next() % (part.size() + 1));
  return part;
}

Value* Matmul(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  Dims batch;
  for (int i = random.Of({0, 0, 1, 1, 2, 2, 3}); i > 0; --i) batch.push_back(Small(random));
  Dims size = {Size(random), Size(random), Size(random)};  // m, n, k.
  Limit(&size, kMaxWork / std::max<int64_t>(1, NumElements(batch)));
  Dims a = BatchPart(batch, random), b = BatchPart(batch, random);
  a.insert(a.end(), {size[0], size[2]});
  b.insert(b.end(), {size[2], size[1]});
  if (a.size() == 2 && random.OneIn(12)) a = {size[2]};
  if (b.size() == 2 && random.OneIn(12)) b = {size[2]};
  Value* x = p.Operand(dtype, a);
  Value* y = p.Operand(dtype, b);
  return p.builder().Op(ops::matmul, {x, y});
}

Value* Linear(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  Dims x;
  for (int i = random.Of({0, 0, 1, 1, 2}); i > 0; --i) x.push_back(Small(random));
  if (!random.OneIn(12)) x.push_back(Size(random));
  Dims size = {x.empty() ? 1 : NumElements(x), Size(random), Size(random)};
  Limit(&size, kMaxWork);
  if (!x.empty()) x.back() = std::min(x.back(), size[0]);
  x.push_back(size[2]);
  Value* input = p.Operand(dtype, x);
  Value* weight = p.Operand(dtype, {size[1], size[2]});
  Value* bias = random.OneIn(2) ? nullptr : p.Operand(dtype, {size[1]});
  return p.builder().Op(ops::linear, {input, weight, bias});
}

struct ConvolutionSizes {
  Dims input, weight, bias;
  std::vector<SymInt> stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

ConvolutionSizes DrawConvolution(Random& random) {
  ConvolutionSizes c;
  const int spatial = random.Of({1, 2, 2, 2, 3});
  int64_t in = random.Of({1, 2, 3, 4, 5, 8, 16, 17}), out = random.Of({1, 2, 3, 4, 6, 8, 16, 33});
  if (random.OneIn(3)) {  // Depthwise, or other groups.
    c.groups = random.OneIn(2) ? in : random.Pick(2, 3);
    in = random.OneIn(2) && c.groups != in ? c.groups * 2 : c.groups;
    out = c.groups * random.Pick(1, 2);
  }
  c.transposed = random.OneIn(5);
  c.input = {Small(random), in};
  c.weight = {c.transposed ? in : out, (c.transposed ? out : in) / c.groups};
  c.bias = {out};
  for (int d = 0; d < spatial; ++d) {
    const int64_t kernel = random.Pick(1, spatial == 3 ? 2 : 3);
    const int64_t dilation = random.OneIn(4) ? 2 : 1;
    const int64_t padding = random.Pick(0, 1);
    const int64_t stride = random.OneIn(3) ? 2 : 1;
    c.input.push_back(kernel * dilation + random.Pick(0, spatial == 1 ? 20 : 7));
    c.weight.push_back(kernel);
    c.stride.push_back(stride);
    c.padding.push_back(std::min(padding, dilation * (kernel - 1)));
    c.dilation.push_back(dilation);
    if (c.transposed) c.output_padding.push_back(stride > 1 ? random.Pick(0, 1) : 0);
  }
  return c;
}

Value* Convolution(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  const ConvolutionSizes c = DrawConvolution(random);
  // Infinite weights alone, so that what they give beside padding is not hidden.
  const bool edges_in_weights = random.OneIn(2);
  p.AllowEdges(!edges_in_weights);
  Value* x = p.Operand(dtype, c.input);
  // A pointwise op makes its result channels-last, as in front of most convolutions.
  if (random.OneIn(2)) x = p.builder().Op(ops::relu, {x});
  p.AllowEdges(edges_in_weights);
  Value* weight = p.Operand(dtype, c.weight);
  p.AllowEdges(true);
  Value* bias = random.OneIn(2) ? nullptr : p.Operand(dtype, c.bias);
  return p.builder().Op(ops::convolution, {x, weight, bias},
                        {{"stride", c.stride},
                         {"padding", c.padding},
                         {"dilation", c.dilation},
                         {"transposed", c.transposed},
                         {"output_padding", c.output_padding},
                         {"groups", SymInt(c.groups)}});
}

Value* Pooling(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  const int spatial = random.Pick(1, 3);
  Dims input = {Small(random), random.Pick(1, 17)}, kernel, stride, padding(2 * spatial, 0);
  for (int d = 0; d < spatial; ++d) {
    kernel.push_back(random.Pick(1, 3));
    stride.push_back(random.Pick(1, 3));
    input.push_back(kernel[d] + random.Pick(0, 9));
    for (int end : {0, spatial}) padding[end + d] = random.Pick(0, kernel[d] > 1);
  }
  Value* x = p.Operand(dtype, input);
  if (random.OneIn(2)) x = p.builder().Op(ops::relu, {x});
  std::vector<NamedAttr> attrs = {{"kernel_size", kernel},
                                  {"stride", stride},
                                  {"padding", padding},
                                  {"dilation", Dims(spatial, 1)},
                                  {"ceil_mode", random.OneIn(3)}};
  if (random.OneIn(2)) return p.builder().Op(ops::max_pool, absl::Span<Value* const>({x}), attrs);
  attrs.push_back({"count_include_pad", random.OneIn(2)});
  return p.builder().Op(ops::avg_pool, absl::Span<Value* const>({x}), attrs);
}

Value* Attention(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  const int64_t batch = Small(random), shared = random.Pick(1, 2), heads = random.Pick(1, 3);
  const int64_t queries = Size(random), keys = std::max<int64_t>(1, Size(random));
  const int64_t features = random.Of({1, 4, 8, 16, 17, 32});
  const Dims q = {batch, heads * shared, queries, features};
  const Dims k = {batch, heads, keys, features};
  // f64 has no routine, and the decomposition has no rule for a query all of whose scores are -inf.
  p.AllowEdges(dtype != DType::kF64);
  Value* query = p.Operand(dtype, q);
  Value* key = p.Operand(dtype, k);
  // A hidden key's infinite value times its probability of 0 is NaN on the reference; routines pass
  // over hidden keys.
  p.AllowEdges(false);
  Value* value = p.Operand(dtype, {batch, heads, keys, random.OneIn(3) ? 5 : features});
  p.AllowEdges(true);
  Value* mask = nullptr;
  if (random.OneIn(2)) {
    mask =
        p.Broadcast(random.OneIn(2) ? dtype : DType::kBool, {batch, heads * shared, queries, keys});
  }
  return p.builder().Op(ops::scaled_dot_product_attention, {query, key, value, mask},
                        {{"is_causal", random.OneIn(3)}, {"enable_gqa", shared > 1}});
}

// The reader of the result: nothing, a view, a reduction, a concatenation or another routine.
Value* AddReader(ProgramBuilder& p, Value* value) {
  Random& random = p.random();
  Builder& b = p.builder();
  Dims dims;
  if (!p.SizesOf(value, &dims) || dims.empty() || !IsFloat(value->type().dtype())) return value;
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  switch (random.Pick(0, 9)) {
    case 0: {
      Dims order;
      for (int64_t d = last; d >= 0; --d) order.push_back(d);
      return b.Op(ops::permute, {value}, {{"dims", order}});
    }
    case 1:
      return b.Op(ops::softmax, {value}, {{"dim", last}});
    case 2:
      return b.Op(ops::mean, {value}, {{"dim", Dims{random.Pick(0, last)}}, {"keepdim", true}});
    case 3: {
      Value* other = p.Existing(value->type().dtype(), dims);
      const NamedAttr dim = {"dim", random.Pick(0, last)};
      const std::vector<Value*> parts = {value, other == nullptr ? value : other};
      return b.Op(ops::cat, parts, absl::MakeConstSpan(&dim, 1));
    }
    case 4: {
      Value* weight = p.Operand(value->type().dtype(), {random.Pick(1, 17), dims.back()});
      return AddPointwise(p, b.Op(ops::linear, {value, weight, nullptr}), 2);
    }
    default:
      return value;
  }
}

}  // namespace

Value* AddRoutine(ProgramBuilder& p, DType dtype) {
  Random& random = p.random();
  if (dtype == DType::kI32) return random.OneIn(2) ? Matmul(p, dtype) : Convolution(p, dtype);
  switch (random.Pick(0, 9)) {
    case 0:
    case 1:
    case 2:
      return Matmul(p, dtype);
    case 3:
    case 4:
      return Linear(p, dtype);
    case 5:
      return Pooling(p, dtype);
    case 6:
      return Attention(p, dtype);
    default:
      return Convolution(p, dtype);
  }
}

absl::StatusOr<TestProgram> MakeRoutineProgram(Random& random) {
  ProgramBuilder p(random, {random.OneIn(4), random.OneIn(5), false});
  const DType dtype =
      random.Of({DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kF32,
                 DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32});
  // Operands of the epilogue may be older than those of the routine.
  if (random.OneIn(3)) p.Leaf(dtype, {random.Pick(1, 3), random.Pick(1, 8)});
  Value* routine = p.Keep(AddRoutine(p, dtype));
  if (!p.builder().status().ok()) return p.builder().status();
  Value* result = AddReader(p, p.Keep(AddPointwise(p, routine, 4)));
  if (!p.builder().status().ok()) return p.builder().status();
  std::vector<Value*> outputs = {result};
  if (random.OneIn(8)) outputs.push_back(routine);
  return p.Finish(outputs);
}

}  // namespace weft::trust
