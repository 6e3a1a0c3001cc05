// Scans, orders, updates at indices, moves, sampled images and recurrent layers, and what follows.
#include <algorithm>
#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "tests/trust/schema_programs.h"

namespace weft::trust {
namespace {

// Ranks 1 to 4, sizes around blocks of lines and vectors.
Dims DrawDims(Random& random) {
  Dims dims;
  for (int rank = random.Pick(1, 4); rank > 0; --rank) {
    dims.push_back(random.OneIn(40)  ? 0
                   : random.OneIn(5) ? 1
                                     : random.Of<int64_t>({2, 3, 5, 8, 17, 31, 32, 33, 65, 130}));
  }
  while (NumElements(dims) > 30000) *std::max_element(dims.begin(), dims.end()) /= 2;
  return dims;
}

DType AnyDType(Random& random) {
  return random.Of({DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                    DType::kI32, DType::kI16, DType::kU16, DType::kI8, DType::kU8, DType::kU32,
                    DType::kU64, DType::kBool});
}

// Integers in [low, high), as an input or a constant.
Value* Indices(ProgramBuilder& p, DType dtype, const Dims& dims, int64_t low, int64_t high) {
  HostTensor tensor(dtype, dims);
  std::vector<int64_t> values(tensor.numel());
  for (int64_t& v : values) {
    v = p.random().Pick(static_cast<int>(low), static_cast<int>(high) - 1);
  }
  tensor.WriteInts(values);
  return p.random().OneIn(3) ? p.builder().Constant(tensor) : p.Input(tensor);
}

DType IndexDType(Random& random) { return random.OneIn(3) ? DType::kI32 : DType::kI64; }

// One of the results.
Value* AnyResult(ProgramBuilder& p, const OpDef& op, const std::vector<Value*>& operands,
                 const std::vector<NamedAttr>& attrs) {
  const auto list = MakeAttrs(op, attrs);
  if (!list.ok()) return nullptr;
  const std::vector<Value*> results = p.builder().Create(op, operands, *list);
  return results.empty() ? nullptr : p.random().Of(results);
}

Value* Scan(ProgramBuilder& p) {
  Random& random = p.random();
  const Dims dims = DrawDims(random);
  const int64_t dim = random.Pick(0, static_cast<int>(dims.size()) - 1);
  if (random.OneIn(2)) {
    Value* x = p.Operand(AnyDType(random), dims);
    return AnyResult(p, random.OneIn(2) ? ops::cummax : ops::cummin, {x}, {{"dim", dim}});
  }
  const DType dtype = random.Of({DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kF16});
  return p.builder().Op(
      random.OneIn(3) ? ops::cumprod : ops::cumsum, {p.Operand(dtype, dims)},
      {{"dim", dim}, {"exclusive", random.OneIn(2)}, {"reverse", random.OneIn(2)}});
}

Value* Order(ProgramBuilder& p) {
  Random& random = p.random();
  const Dims dims = DrawDims(random);
  const int dim = random.Pick(0, static_cast<int>(dims.size()) - 1);
  Value* x = p.Operand(AnyDType(random), dims);
  const NamedAttr along = {"dim", int64_t{dim}};
  if (random.OneIn(2)) {
    return AnyResult(p, ops::sort, {x}, {along, {"descending", random.OneIn(2)}});
  }
  const SymInt k = random.Pick(0, static_cast<int>(dims[dim]));
  return AnyResult(p, ops::topk, {x}, {along, {"largest", random.OneIn(2)}, {"k", k}});
}

std::string Combination(Random& random) {
  return random.Of<std::string>({"none", "add", "mul", "max", "min"});
}

// Several updates of one place are combined in an order that rounding shows; each has few.
Value* ScatterElements(ProgramBuilder& p) {
  Random& random = p.random();
  Dims self = DrawDims(random);
  for (int64_t& d : self) d = std::max<int64_t>(d, 1);
  const int dim = random.Pick(0, static_cast<int>(self.size()) - 1);
  Dims index, updates;
  for (size_t d = 0; d < self.size(); ++d) {
    const auto most = static_cast<int>(self[d]);
    index.push_back(static_cast<int>(d) == dim ? random.Pick(0, most) : random.Pick(1, most));
    updates.push_back(index.back() + (random.OneIn(3) ? 1 : 0));
  }
  const DType dtype = AnyDType(random);
  Value* x = p.Operand(dtype, self);
  Value* at = Indices(p, IndexDType(random), index, -self[dim], self[dim]);
  return p.builder().Op(ops::scatter, {x, at, p.Operand(dtype, updates)},
                        {{"dim", int64_t{dim}}, {"reduce", Combination(random)}});
}

Value* ScatterSlices(ProgramBuilder& p) {
  Random& random = p.random();
  Dims self = DrawDims(random);
  for (int64_t& d : self) d = std::max<int64_t>(d, 1);
  const int width = random.Pick(1, static_cast<int>(self.size()));
  const int64_t least = *std::min_element(self.begin(), self.begin() + width);
  const Dims tuples = random.OneIn(2) ? Dims{random.Pick(0, 9)} : Dims{random.Pick(1, 4), 3};
  Dims index = tuples, updates = tuples;
  index.push_back(width);
  updates.insert(updates.end(), self.begin() + width, self.end());
  const DType dtype = AnyDType(random);
  Value* x = p.Operand(dtype, self);
  Value* at = Indices(p, IndexDType(random), index, -least, least);
  return p.builder().Op(ops::scatter_nd, {x, at, p.Operand(dtype, updates)},
                        {{"reduce", Combination(random)}});
}

Value* Roll(ProgramBuilder& p) {
  Random& random = p.random();
  const Dims dims = DrawDims(random);
  std::vector<SymInt> shifts;
  Dims along;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (random.OneIn(2)) continue;
    along.push_back(static_cast<int64_t>(d));
    shifts.push_back(SymInt(random.Pick(-70, 70)));
  }
  return p.builder().Op(ops::roll, {p.Operand(AnyDType(random), dims)},
                        {{"shifts", shifts}, {"dims", along}});
}

Value* Sample(ProgramBuilder& p) {
  Random& random = p.random();
  const int axes = random.Pick(1, 3);
  const DType dtype = random.Of({DType::kF32, DType::kF32, DType::kF16, DType::kBF16});
  Dims image = {random.Pick(1, 2), random.Pick(1, 9)}, grid = {image[0]};
  for (int d = 0; d < axes; ++d) {
    image.push_back(random.Pick(1, 9));
    grid.push_back(random.Pick(1, axes == 3 ? 4 : 12));
  }
  grid.push_back(axes);
  // What a position that is not finite reads has no definition.
  p.AllowEdges(false);
  Value* at = p.Operand(dtype, grid);
  Value* x = p.Operand(dtype, image);
  p.AllowEdges(true);
  return p.builder().Op(
      ops::grid_sampler, {x, at},
      {{"mode", random.Of<std::string>({"bilinear", "bilinear", "bicubic"})},
       {"padding_mode", random.Of<std::string>({"zeros", "border", "reflection"})},
       {"align_corners", random.OneIn(2)}});
}

Value* Recurrence(ProgramBuilder& p) {
  Random& random = p.random();
  const int gates = random.Of({4, 3, 1});
  const OpDef& op = gates == 4 ? ops::lstm : gates == 3 ? ops::gru : ops::rnn;
  const int64_t steps = random.Pick(1, 9), batch = random.Of({1, 2, 3, 15, 16, 17, 33, 64});
  const int64_t in = random.Of({1, 3, 8, 17}), size = random.Of({1, 4, 8, 15, 16, 17, 33});
  const int64_t directions = random.OneIn(3) ? 2 : 1;
  const auto maybe = [&](const Dims& dims) {
    return random.OneIn(2) ? nullptr : p.Operand(DType::kF32, dims);
  };
  // A state that is not finite stays so for all steps.
  p.AllowEdges(false);
  std::vector<Value*> operands = {p.Operand(DType::kF32, {steps, batch, in}),
                                  p.Operand(DType::kF32, {directions, gates * size, in}),
                                  p.Operand(DType::kF32, {directions, gates * size, size}),
                                  maybe({directions, 2 * gates * size})};
  operands.push_back(random.OneIn(3) ? Indices(p, DType::kI32, {batch}, 1, steps + 1) : nullptr);
  operands.push_back(maybe({directions, batch, size}));
  if (gates == 4) operands.push_back(maybe({directions, batch, size}));
  if (gates == 4) operands.push_back(maybe({directions, 3 * size}));
  p.AllowEdges(true);
  std::vector<NamedAttr> attrs = {{"hidden_size", size},
                                  {"direction", std::string(directions == 2   ? "bidirectional"
                                                            : random.OneIn(2) ? "forward"
                                                                              : "reverse")}};
  if (gates == 3) attrs.push_back({"linear_before_reset", random.OneIn(2)});
  return AnyResult(p, op, operands, attrs);
}

Value* Draw(ProgramBuilder& p) {
  switch (p.random().Pick(0, 7)) {
    case 0:
    case 1:
      return Scan(p);
    case 2:
      return Order(p);
    case 3:
      return ScatterElements(p);
    case 4:
      return ScatterSlices(p);
    case 5:
      return Roll(p);
    case 6:
      return Sample(p);
    default:
      return Recurrence(p);
  }
}

}  // namespace

absl::StatusOr<TestProgram> MakeOrderProgram(Random& random) {
  ProgramBuilder p(random, {random.OneIn(4), random.OneIn(4), false});
  Value* value = Draw(p);
  if (!p.builder().status().ok()) return p.builder().status();
  if (value == nullptr) return absl::NotFoundError("the op does not take this dtype");
  Value* result = AddPointwise(p, p.Keep(value), 2);
  if (!p.builder().status().ok()) return p.builder().status();
  return p.Finish({result});
}

}  // namespace weft::trust
