#include "tests/trust/program.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft::trust {
namespace {

double DrawEdge(DType dtype, Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Subnormal, but in bf16: AVX512_BF16 reads its subnormal numbers as zeros (docs/cpu.md).
  const double tiny = dtype == DType::kF16 ? 0x1p-20 : dtype == DType::kBF16 ? 0x1p-120 : 0x1p-130;
  return random.Of<double>({std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0.0,
                            -0.0, tiny, -tiny, 80.0, -80.0});
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kU8 || dtype == DType::kU16 ||
         dtype == DType::kU32 || dtype == DType::kU64;
}

}  // namespace

int64_t NumElements(absl::Span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

HostTensor DrawTensor(DType dtype, absl::Span<const int64_t> dims, bool edge, Random& random) {
  HostTensor tensor(dtype, dims);
  if (IsComplex(dtype)) {
    Dims parts(dims.begin(), dims.end());
    parts.push_back(2);
    const DType part = dtype == DType::kC128  ? DType::kF64
                       : dtype == DType::kC64 ? DType::kF32
                                              : DType::kF16;
    HostTensor::View(tensor.buffer(), part, parts)
        ->WriteDoubles(DrawTensor(part, parts, false, random).ReadDoubles());
    return tensor;
  }
  if (!IsFloat(dtype)) {
    std::vector<int64_t> values(tensor.numel());
    const int lowest = IsUnsigned(dtype) ? 0 : -4;
    for (int64_t& v : values) v = random.Pick(lowest, dtype == DType::kBool ? 1 : 4);
    tensor.WriteInts(values);
    return tensor;
  }
  // Few edge values a tensor, so that most of what they are summed into stays finite.
  const int edges = static_cast<int>(std::max<int64_t>(6, tensor.numel() / 3));
  std::vector<double> values(tensor.numel());
  for (double& v : values) {
    v = edge && random.OneIn(edges) ? DrawEdge(dtype, random) : 2 * random.Unit();
  }
  tensor.WriteDoubles(values);
  return tensor;
}

ProgramBuilder::ProgramBuilder(Random& random, const Options& options)
    : random_(random),
      options_(options),
      program_{std::make_unique<Module>(ops::Registry()), {}, options.edge_values},
      main_(program_.module->AddFunction("main")),
      builder_(main_) {}

Type ProgramBuilder::TypeOf(DType dtype, absl::Span<const int64_t> dims) {
  std::vector<SymInt> sizes;
  for (int64_t d : dims) {
    SymInt size = d;
    if (options_.symbols && d > 1) {
      auto [it, is_new] = symbols_.try_emplace(d, SymInt(d));
      if (is_new && random_.OneIn(2)) {
        it->second = SymInt::Symbol(absl::StrCat("s", d));
        program_.module->symbols().Declare({it->second, {0, 4096}});
        values_.emplace(it->second, d);
      }
      size = it->second;
    }
    sizes.push_back(size);
  }
  return Type::Tensor(dtype, sizes);
}

bool ProgramBuilder::SizesOf(const Value* value, Dims* dims) const {
  if (value == nullptr || !value->type().is_tensor()) return false;
  dims->clear();
  for (SymInt d : value->type().dims()) {
    const std::optional<int64_t> size = Evaluate(d, [&](SymInt s) -> std::optional<int64_t> {
      auto it = values_.find(s);
      return it == values_.end() ? std::nullopt : std::optional<int64_t>(it->second);
    });
    if (!size) return false;
    dims->push_back(*size);
  }
  return true;
}

Value* ProgramBuilder::Input(const HostTensor& tensor) {
  program_.inputs.push_back(tensor);
  return Keep(main_->AddInput(TypeOf(tensor.dtype(), tensor.dims())));
}

Value* ProgramBuilder::Leaf(DType dtype, const Dims& dims) {
  const HostTensor tensor = DrawTensor(dtype, dims, options_.edge_values && edges_, random_);
  if (options_.plain || random_.OneIn(2)) return Input(tensor);
  return builder_.Constant(tensor);
}

Value* ProgramBuilder::Keep(Value* value) {
  if (value != nullptr) kept_.push_back(value);
  return value;
}

Value* ProgramBuilder::Existing(DType dtype, const Dims& dims) {
  std::vector<Value*> found;
  Dims sizes;
  for (Value* value : kept_) {
    if (SizesOf(value, &sizes) && sizes == dims && value->type().dtype() == dtype) {
      found.push_back(value);
    }
  }
  return found.empty() ? nullptr : random_.Of(found);
}

Value* ProgramBuilder::Operand(DType dtype, const Dims& dims) {
  if (options_.plain) return Leaf(dtype, dims);
  switch (random_.Pick(0, 9)) {
    case 0:
    case 1:
      return View(dtype, dims);
    case 2:
    case 3: {
      if (!IsFloat(dtype)) return Leaf(dtype, dims);
      const OpDef* op = random_.Of({&ops::silu, &ops::relu, &ops::neg, &ops::tanh});
      return Keep(builder_.Op(*op, {Leaf(dtype, dims)}));
    }
    case 4: {
      // Older values may hold edge values.
      Value* value = edges_ ? Existing(dtype, dims) : nullptr;
      return value != nullptr ? value : Leaf(dtype, dims);
    }
    default:
      return Leaf(dtype, dims);
  }
}

Value* ProgramBuilder::View(DType dtype, const Dims& dims) {
  if (dims.empty()) {
    return builder_.Op(ops::select, {Leaf(dtype, {3})}, {{"dim", 0}, {"index", SymInt(1)}});
  }
  switch (random_.Pick(0, 3)) {
    case 0:
      return Permuted(dtype, dims);
    case 1:
      return Expanded(dtype, dims);
    case 2: {
      const int64_t dim = random_.Pick(0, static_cast<int>(dims.size()) - 1);
      return builder_.Op(ops::flip, {Leaf(dtype, dims)}, {{"dims", Dims{dim}}});
    }
    default:
      return Strided(dtype, dims);
  }
}

// Every second element along a dim of a larger tensor, or a part of it as `chunk` gives it.
Value* ProgramBuilder::Strided(DType dtype, const Dims& dims) {
  const int dim = random_.Pick(0, static_cast<int>(dims.size()) - 1);
  const int64_t step = random_.Pick(1, 2);
  const int64_t start = random_.Pick(0, 3);
  Dims larger = dims;
  larger[dim] = start + dims[dim] * step + random_.Pick(0, 2);
  return builder_.Op(ops::slice, {Leaf(dtype, larger)},
                     {{"dim", dim},
                      {"start", SymInt(start)},
                      {"end", SymInt(start + dims[dim] * step)},
                      {"step", SymInt(step)}});
}

Value* ProgramBuilder::Permuted(DType dtype, const Dims& dims) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Next() % i]);
  Dims before(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) before[order[i]] = dims[i];
  return builder_.Op(ops::permute, {Leaf(dtype, before)}, {{"dims", order}});
}

Value* ProgramBuilder::Expanded(DType dtype, const Dims& dims) {
  Dims small = dims;
  for (int64_t& d : small) {
    if (random_.OneIn(2)) d = 1;
  }
  Value* from = Leaf(dtype, small);
  std::vector<SymInt> size;
  for (int64_t d : dims) {
    auto it = symbols_.find(d);
    size.push_back(it == symbols_.end() ? SymInt(d) : it->second);
  }
  return builder_.Op(ops::expand, {from}, {{"size", size}});
}

Value* ProgramBuilder::Broadcast(DType dtype, const Dims& dims) {
  Dims small = dims;
  // Full, a dim alone, or any mask.
  switch (random_.Pick(0, 4)) {
    case 0:
      break;
    case 1:
      if (!small.empty()) {
        const size_t kept = random_.Next() % small.size();
        for (size_t i = 0; i < small.size(); ++i) {
          if (i != kept) small[i] = 1;
        }
      }
      break;
    default:
      for (int64_t& d : small) {
        if (random_.OneIn(2)) d = 1;
      }
  }
  size_t drop = 0;
  while (drop < small.size() && small[drop] == 1) ++drop;
  if (drop > 0) drop = random_.Next() % (drop + 1);
  if (drop == 0 && random_.OneIn(12) && !small.empty()) drop = 1;
  small.erase(small.begin(), small.begin() + drop);
  return Operand(dtype, small);
}

TestProgram ProgramBuilder::Finish(absl::Span<Value* const> outputs) {
  main_->SetOutputs(outputs);
  return std::move(program_);
}

}  // namespace weft::trust
