#include "api/check/seeded_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/annotate.h"
#include "base/hash.h"
#include "base/host_buffer.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/index.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_nearest.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

// SplitMix64, which gives the same numbers on every machine.
class Random {
 public:
  // The first number scatters the seeds: otherwise the streams of neighbouring seeds would be
  // shifted copies of each other.
  explicit Random(uint64_t seed) : state_(seed) { state_ = Next(); }
  uint64_t Next() {
    state_ += kGoldenRatio64;
    return MixBits(state_);
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % n); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

using Assignment = absl::flat_hash_map<SymInt, int64_t>;

// "it lies in [0, 64] and is a multiple of 8 (pad "blocks/pad")", with the origins of these facts.
std::string DescribeSizes(const SymbolTable& facts, const SymbolInfo& info) {
  std::string text = info.range.max == SymRange::kMax
                         ? absl::StrCat("it is at least ", info.range.min)
                         : absl::StrCat("it lies in [", info.range.min, ", ", info.range.max, "]");
  if (info.divisor != 1) absl::StrAppend(&text, " and is a multiple of ", info.divisor);
  std::vector<std::string> origins;
  for (const int i : facts.ConditionsAbout(info.symbol)) {
    const SymCondition& c = facts.conditions()[i];
    if (c.is_range && !c.origin.empty()) origins.push_back(c.origin);
  }
  if (!origins.empty()) absl::StrAppend(&text, " (", absl::StrJoin(origins, ", "), ")");
  return text;
}

absl::StatusOr<int64_t> ChooseSize(const SymbolTable& facts, const SymbolInfo& info,
                                   const SeedOptions& options, Random* random) {
  auto given = options.dims.find(std::string(info.symbol.name()));
  if (given != options.dims.end()) {
    const int64_t v = given->second;
    if (v < info.range.min || v > info.range.max || v % info.divisor != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          info.symbol.ToString(), " = ", v, " is not allowed: ", DescribeSizes(facts, info)));
    }
    return v;
  }
  using Sizes = SeedOptions::Sizes;
  const auto [min, max] = info.range;
  const bool hinted = info.hint && *info.hint >= min && *info.hint <= max;
  if (hinted && options.sizes == Sizes::kHint) return *info.hint;
  const bool drawn = options.sizes == Sizes::kHint || options.sizes == Sizes::kDrawn;
  int64_t wanted = drawn ? 2 : options.sizes == Sizes::kOne ? 1 : 0;
  if (options.sizes == Sizes::kMixed) wanted = random->Below(2) == 0 ? 1 : 4;
  // The sums may pass 64 bits.
  const __int128 divisor = info.divisor;
  const __int128 lowest = std::max<int64_t>(min, wanted);
  __int128 v = (lowest + divisor - 1) / divisor * divisor;
  if (drawn) v += divisor * random->Below(4);
  while (v > max && v - divisor >= min) v -= divisor;
  if (v >= min && v <= max) return static_cast<int64_t>(v);
  return absl::InvalidArgumentError(absl::StrCat("no size is allowed for ", info.symbol.ToString(),
                                                 ": ", DescribeSizes(facts, info)));
}

// Sets sizes that are equal to expressions of other sizes, unless they are given.
void MeetEqualities(const SymbolTable& facts, absl::Span<const SymInt> symbols,
                    const SeedOptions& options, Assignment* sizes) {
  if (facts.conditions().empty()) return;
  for (SymInt s : symbols) {
    const SymInt value = facts.Simplify(s);
    if (value == s || options.dims.contains(std::string(s.name()))) continue;
    const auto size = Evaluate(value, [&](SymInt other) -> std::optional<int64_t> {
      auto it = sizes->find(other);
      if (it == sizes->end()) return std::nullopt;
      return it->second;
    });
    if (size) (*sizes)[s] = *size;
  }
}

// Moves sizes to the nearest ones that satisfy the other conditions; given sizes stay.
void MeetConditions(const SymbolTable& facts, const SeedOptions& options, Assignment* sizes) {
  if (facts.conditions().empty()) return;
  const auto edits = NearestAllowed(facts, *sizes);
  if (!edits) return;
  for (const SymbolEdit& edit : *edits) {
    if (options.dims.contains(std::string(edit.symbol.name()))) return;
  }
  for (const SymbolEdit& edit : *edits) (*sizes)[edit.symbol] = edit.to;
}

// The first given size, by name, that is not among the symbols.
absl::Status UnknownSize(const SeedOptions& options, absl::Span<const SymInt> symbols) {
  constexpr size_t kMaxListed = 8;
  std::vector<std::string> known;
  for (SymInt symbol : symbols) known.emplace_back(symbol.name());
  std::string unknown;
  for (const auto& [name, value] : options.dims) {
    const bool found = std::find(known.begin(), known.end(), name) != known.end();
    if (!found && (unknown.empty() || name < unknown)) unknown = name;
  }
  const std::string near = DidYouMean(unknown, known);
  const size_t listed = std::min(known.size(), kMaxListed);
  const absl::string_view list = known.empty()  ? "; all sizes are constant"
                                 : near.empty() ? "; there are "
                                                : " There are ";
  return absl::InvalidArgumentError(absl::StrCat(
      "no input has the size \"", unknown, "\" in its shape", near, list,
      absl::StrJoin(known.begin(), known.begin() + listed, ", "),
      listed < known.size() ? absl::StrCat(" and ", known.size() - listed, " more") : ""));
}

absl::StatusOr<Assignment> ChooseSizes(const Graph& graph, const SeedOptions& options,
                                       Random* random) {
  std::vector<SymInt> symbols;
  absl::flat_hash_set<SymInt> seen;
  const auto add = [&](SymInt s) {
    if (seen.insert(s).second) symbols.push_back(s);
  };
  for (Value* input : graph.inputs()) {
    const Type type = input->type();
    if (type.is_symint()) ForEachSymbol(type.symint(), add);
    if (!type.is_tensor()) continue;
    for (SymInt d : type.dims()) ForEachSymbol(d, add);
  }
  Assignment sizes;
  size_t given = 0;
  for (SymInt s : symbols) {
    const SymbolInfo* known = graph.module().symbols().Find(s);
    SymbolInfo info;
    if (known != nullptr) info = *known;
    info.symbol = s;
    WEFT_ASSIGN_OR_RETURN(sizes[s], ChooseSize(graph.module().symbols(), info, options, random));
    given += options.dims.contains(std::string(s.name()));
  }
  MeetEqualities(graph.module().symbols(), symbols, options, &sizes);
  MeetConditions(graph.module().symbols(), options, &sizes);
  if (given != options.dims.size()) return UnknownSize(options, symbols);
  return sizes;
}

using Values = SeedOptions::Values;

// True if the next element is an edge value.
bool DrawEdge(Values values, Random* random) {
  if (values == Values::kEdge) return random->Below(4) == 0;
  return values == Values::kDense && random->Below(4) != 0;
}

bool IsWide(Values values) { return values == Values::kWide || values == Values::kDense; }

double DrawFloat(Values values, Random* random) {
  constexpr double kEdges[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, 1e-30};
  if (!DrawEdge(values, random)) {
    return (random->Unit() * 2 - 1) * (IsWide(values) ? 8 : 1);
  }
  return kEdges[random->Below(sizeof(kEdges) / sizeof(kEdges[0]))];
}

int64_t DrawInt(DType dtype, Values values, Random* random) {
  if (dtype == DType::kBool) return random->Below(2);
  if (DrawEdge(values, random)) {
    const int64_t edges[] = {IntMin(dtype), IntMax(dtype), IsSignedInt(dtype) ? -1 : 1, 0, 1};
    return edges[random->Below(5)];
  }
  if (!IsWide(values)) return random->Below(3);
  const int64_t low = std::max<int64_t>(IntMin(dtype), -7);
  return low + random->Below(std::min<int64_t>(IntMax(dtype), 7) - low + 1);
}

// Rows of the smallest table that is indexed by plain values of `input`.
int64_t RowsFor(const Value& input) {
  int64_t rows = std::numeric_limits<int64_t>::max();
  for (const Use* use = input.first_use(); use != nullptr; use = use->next()) {
    const Node& user = *use->user();
    if (!user.Is(ops::index_select)) continue;
    const ops::IndexSelectView select(user);
    if (select.index() != &input) continue;
    const SymInt size = select.self()->type().dim(static_cast<int>(select.dim()));
    if (size.is_constant()) rows = std::min(rows, std::max<int64_t>(size.value(), 1));
  }
  return rows;
}

// Fills `part`, which is a part of an input; integers are below `rows`.
void FillPart(HostTensor* part, int64_t rows, const SeedOptions& options, Random* random) {
  const DType dtype = part->dtype();
  if (IsFloat(dtype)) {
    std::vector<double> values(part->numel());
    for (double& v : values) v = DrawFloat(options.values, random);
    part->WriteDoubles(values);
    return;
  }
  std::vector<int64_t> values(part->numel());
  for (int64_t& v : values) v = std::min(DrawInt(dtype, options.values, random), rows - 1);
  part->WriteInts(values);
}

// Draws wide values in pieces that are small beside the tensor.
absl::Status Fill(const HostTensor& tensor, int64_t rows, const SeedOptions& options,
                  Random* random) {
  constexpr int64_t kPart = 1 << 16;
  for (int64_t begin = 0; begin < tensor.numel(); begin += kPart) {
    const int64_t size = std::min(kPart, tensor.numel() - begin);
    WEFT_ASSIGN_OR_RETURN(HostTensor part,
                          HostTensor::View(tensor.buffer(), tensor.dtype(), {size}, {}, begin));
    FillPart(&part, rows, options, random);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SizeOf(SymInt dim, const Assignment& sizes, absl::string_view input) {
  const auto size = Evaluate(dim, [&](SymInt s) -> std::optional<int64_t> { return sizes.at(s); });
  if (size) return *size;
  return absl::InvalidArgumentError(absl::StrCat("no size for ", dim.ToString(), " of ", input));
}

absl::StatusOr<HostTensor> MakeInput(const Value& input, const Assignment& sizes,
                                     const std::string& name, const SeedOptions& options,
                                     Random* random) {
  const Type type = input.type();
  if (type.is_symint()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t value, SizeOf(type.symint(), sizes, name));
    return HostTensor::ScalarInt(DType::kI64, value);
  }
  if (!type.is_tensor() || IsComplex(type.dtype())) {
    return absl::UnimplementedError(
        absl::StrCat("input ", name, " of type ", type.ToString(), " cannot be made from a seed"));
  }
  std::vector<int64_t> dims;
  for (SymInt d : type.dims()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t size, SizeOf(d, sizes, name));
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("size ", d.ToString(), " = ", size, " of ", name, " is negative"));
    }
    dims.push_back(size);
  }
  auto tensor = HostTensor::Allocate(type.dtype(), dims);
  if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input ", name));
  const bool plain = options.values == Values::kPlain;
  const int64_t rows = plain ? RowsFor(input) : std::numeric_limits<int64_t>::max();
  WEFT_RETURN_IF_ERROR(Fill(*tensor, rows, options, random));
  return tensor;
}

absl::StatusOr<std::vector<HostTensor>> MakeInputs(const Graph& graph, const SeedOptions& options) {
  Random random(options.seed);
  WEFT_ASSIGN_OR_RETURN(auto sizes, ChooseSizes(graph, options, &random));
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    // The model's own values are used in the plainest run, drawn values in others.
    const bool plain =
        options.values == SeedOptions::Values::kPlain && options.sizes == SeedOptions::Sizes::kHint;
    if (info.initial >= 0 && info.value < 0 && plain) {
      inputs.push_back(graph.module().constants().tensor(info.initial));
      continue;
    }
    if (info.value >= 0) {
      inputs.push_back(graph.module().constants().tensor(info.value));
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(HostTensor tensor,
                          MakeInput(*graph.input(i), sizes, info.name, options, &random));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> MakeSeededInputs(const Graph& graph,
                                                         const SeedOptions& options) {
  return CatchOutOfMemory([&] { return MakeInputs(graph, options); });
}

}  // namespace weft
