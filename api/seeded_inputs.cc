#include "api/seeded_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// SplitMix64: the same numbers on every machine.
class Random {
 public:
  // The first number scatters the seeds: the streams of neighbouring ones would
  // otherwise be each other's, shifted by one.
  explicit Random(uint64_t seed) : state_(seed) { state_ = Next(); }
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % n); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

using Assignment = absl::flat_hash_map<SymInt, int64_t>;

absl::StatusOr<int64_t> ChooseSize(const SymbolInfo& info,
                                   const SeedOptions& options,
                                   Random* random) {
  auto given = options.dims.find(std::string(info.symbol.name()));
  if (given != options.dims.end()) {
    const int64_t v = given->second;
    if (v < info.range.min || v > info.range.max || v % info.divisor != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          info.symbol.ToString(), " = ", v, " is not allowed: it lies in [",
          info.range.min, ", ", info.range.max, "] and is a multiple of ",
          info.divisor));
    }
    return v;
  }
  if (info.hint) return *info.hint;
  const int64_t lowest = std::max<int64_t>(info.range.min, 2);
  int64_t v = (lowest + info.divisor - 1) / info.divisor * info.divisor;
  v += info.divisor * random->Below(4);
  while (v > info.range.max && v - info.divisor >= info.range.min) {
    v -= info.divisor;
  }
  return v;
}

absl::StatusOr<Assignment> ChooseSizes(const Graph& graph,
                                       const SeedOptions& options,
                                       Random* random) {
  std::vector<SymInt> symbols;
  for (Value* input : graph.inputs()) {
    if (!input->type().is_tensor()) continue;
    for (SymInt d : input->type().dims()) {
      ForEachSymbol(d, [&](SymInt s) {
        if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) {
          symbols.push_back(s);
        }
      });
    }
  }
  Assignment sizes;
  size_t given = 0;
  for (SymInt s : symbols) {
    const SymbolInfo* known = graph.module().symbols().Find(s);
    SymbolInfo info;
    if (known != nullptr) info = *known;
    info.symbol = s;
    auto size = ChooseSize(info, options, random);
    if (!size.ok()) return size.status();
    sizes[s] = *size;
    given += options.dims.contains(std::string(s.name()));
  }
  if (given != options.dims.size()) {
    std::vector<std::string> unknown;
    for (const auto& [name, value] : options.dims) {
      if (!sizes.contains(SymInt::Symbol(name))) unknown.push_back(name);
    }
    std::sort(unknown.begin(), unknown.end());
    return absl::InvalidArgumentError(absl::StrCat(
        "no input has the size \"", unknown[0], "\" in its shape"));
  }
  return sizes;
}

double EdgeFloat(Random* random) {
  constexpr double kEdges[] = {0.0,      -0.0,     1.0,  -1.0, INFINITY,
                               -INFINITY, NAN,      1e30, -1e30, 1e-30};
  if (random->Below(4) != 0) return random->Unit() * 2 - 1;
  return kEdges[random->Below(sizeof(kEdges) / sizeof(kEdges[0]))];
}

int64_t EdgeInt(DType dtype, Random* random) {
  switch (random->Below(6)) {
    case 0:
      return IntMin(dtype);
    case 1:
      return IntMax(dtype);
    case 2:
      return IsSignedInt(dtype) ? -1 : 1;
    default:
      return random->Below(3);
  }
}

void Fill(HostTensor* tensor, const SeedOptions& options, Random* random) {
  const bool edge = options.values == SeedOptions::Values::kEdge;
  const DType dtype = tensor->dtype();
  if (IsFloat(dtype)) {
    std::vector<double> values(tensor->numel());
    for (double& v : values) {
      v = edge ? EdgeFloat(random) : random->Unit() * 2 - 1;
    }
    tensor->WriteDoubles(values);
    return;
  }
  std::vector<int64_t> values(tensor->numel());
  for (int64_t& v : values) {
    if (dtype == DType::kBool) {
      v = random->Below(2);
    } else {
      v = edge ? EdgeInt(dtype, random) : random->Below(3);
    }
  }
  tensor->WriteInts(values);
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> MakeSeededInputs(
    const Graph& graph, const SeedOptions& options) {
  Random random(options.seed);
  auto sizes = ChooseSizes(graph, options, &random);
  if (!sizes.ok()) return sizes.status();
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    if (info.value >= 0) {
      inputs.push_back(graph.module().constants().tensor(info.value));
      continue;
    }
    const Type type = graph.input(i)->type();
    if (!type.is_tensor() || IsComplex(type.dtype())) {
      return absl::UnimplementedError(absl::StrCat(
          "input ", info.name, " of type ", type.ToString(),
          " cannot be made from a seed"));
    }
    std::vector<int64_t> dims;
    for (SymInt d : type.dims()) {
      const auto size = Evaluate(d, [&](SymInt s) -> std::optional<int64_t> {
        return sizes->at(s);
      });
      if (!size || *size < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("no size for dim ", d.ToString(), " of ", info.name));
      }
      dims.push_back(*size);
    }
    auto tensor = HostTensor::Allocate(type.dtype(), dims);
    if (!tensor.ok()) return tensor.status();
    Fill(&*tensor, options, &random);
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

}  // namespace weft
