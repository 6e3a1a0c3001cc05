#include "tests/golden/semantics.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "base/annotate.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "tests/support/tensor_compare.h"

namespace weft::golden {
namespace {

constexpr int kRounds = 6;

using Assignment = absl::flat_hash_map<SymInt, int64_t>;

// Small values within the facts: the smallest, then larger ones.
Assignment Assign(const SymbolTable& symbols, int round) {
  Assignment values;
  int64_t next = 0;
  for (const SymbolInfo& info : symbols.symbols()) {
    const int64_t d = info.divisor;
    int64_t low = std::max<int64_t>(info.range.min, 0);
    low = (low + d - 1) / d * d;
    int64_t value = low + d * (round == 0 ? 0 : (round + next++) % 5);
    if (value > info.range.max) value = info.range.max / d * d;
    values[info.symbol] = value;
  }
  return values;
}

std::optional<std::vector<int64_t>> DimsOf(Type type, const Assignment& values) {
  std::vector<int64_t> dims;
  for (SymInt d : type.dims()) {
    const auto size = Evaluate(d, [&](SymInt s) -> std::optional<int64_t> {
      auto it = values.find(s);
      if (it == values.end()) return std::nullopt;
      return it->second;
    });
    if (!size || *size < 0) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

double DrawFloat(std::mt19937& random, bool special) {
  constexpr double kSpecial[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  const uint32_t draw = random();
  if (special && draw % 3 == 0) return kSpecial[(draw / 3) % 7];
  return static_cast<double>(static_cast<int32_t>(random())) / (1 << 29);
}

HostTensor Draw(Type type, const std::vector<int64_t>& dims, std::mt19937& random, bool special) {
  HostTensor tensor(type.dtype(), dims);
  if (IsFloat(type.dtype())) {
    std::vector<double> values(tensor.numel());
    for (double& v : values) v = DrawFloat(random, special);
    tensor.WriteDoubles(values);
    return tensor;
  }
  std::vector<int64_t> values(tensor.numel());
  for (int64_t& v : values) {
    const int64_t low = std::max<int64_t>(IntMin(type.dtype()), -4);
    const int64_t high = std::min<int64_t>(IntMax(type.dtype()), 4);
    v = low + static_cast<int64_t>(random() % (high - low + 1));
  }
  tensor.WriteInts(values);
  return tensor;
}

bool HasInput(const Graph& graph, const std::string& name) {
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (graph.input_info(i).name == name) return true;
  }
  return false;
}

// The elements of `inputs` (inputs of `from`) whose names are also inputs of `to`.
std::vector<HostTensor> Select(const Graph& from, const Graph& to,
                               const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> selected;
  for (int i = 0; i < from.num_inputs(); ++i) {
    if (HasInput(to, from.input_info(i).name)) selected.push_back(inputs[i]);
  }
  return selected;
}

// Seeded inputs of a function; nothing when its sizes do not come out. Inputs
// that `after` has made constants of have their initial values.
std::optional<std::vector<HostTensor>> Inputs(const Graph& graph, const Graph& after, int round,
                                              bool special) {
  const Assignment values = Assign(graph.module().symbols(), round);
  std::mt19937 random(round + 1);
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const Type type = graph.input(i)->type();
    const InputInfo& info = graph.input_info(i);
    const int required = HasInput(after, info.name) ? info.value : info.initial;
    if (required >= 0) {
      inputs.push_back(graph.module().constants().tensor(required));
    } else if (type.is_symint()) {
      const auto dims = DimsOf(Type::Tensor(DType::kI64, {type.symint()}), values);
      if (!dims) return std::nullopt;
      inputs.push_back(HostTensor::ScalarInt(DType::kI64, (*dims)[0]));
    } else {
      const auto dims = DimsOf(type, values);
      if (!dims) return std::nullopt;
      inputs.push_back(Draw(type, *dims, random, special));
    }
  }
  return inputs;
}

std::string Compare(const HostTensor& got, const HostTensor& want, NumericContract contract,
                    double max_error) {
  if (max_error > 0) return Difference(got, want, Tolerance{0, max_error});
  switch (contract) {
    case NumericContract::kBitExact:
      return ExactDifference(got, want);
    case NumericContract::kValueSafe:
      return Difference(got, want, Tolerance{});
    default:
      return Difference(got, want, ToleranceOf(want.dtype()));
  }
}

// The outputs, then what every input that `other` has too is in the end.
absl::StatusOr<std::vector<HostTensor>> RunFunction(const Graph& graph, const Graph& other,
                                                    const std::vector<HostTensor>& inputs,
                                                    bool writes) {
  if (!writes) return EvaluateGraph(graph, inputs);
  std::vector<HostTensor> written;
  reference::RunOptions options;
  options.written = &written;
  auto outputs = reference::Run(graph, inputs, options);
  if (!outputs.ok()) return outputs;
  outputs->resize(graph.num_own_outputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!HasInput(other, graph.input_info(static_cast<int>(i)).name)) continue;
    outputs->push_back(written[i].valid() ? written[i] : inputs[i]);
  }
  return outputs;
}

absl::Status CompareFunctions(const Graph& before, const Graph& after, NumericContract contract,
                              const Graph& signature, double max_error) {
  const bool special = contract <= NumericContract::kValueSafe;
  const auto is_open = [](const Graph& graph) {
    return graph.module().HasWrites() || !graph.write_backs().empty();
  };
  const bool writes = is_open(before) || is_open(after);
  int compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto inputs = Inputs(signature, after, round, special);
    if (!inputs) continue;
    const std::vector<HostTensor> first = Select(signature, before, *inputs);
    const std::vector<HostTensor> left = Select(signature, after, *inputs);
    const auto want = RunFunction(before, after, first, writes);
    if (!want.ok()) {
      if (want.status().code() == absl::StatusCode::kInternal) {
        return want.status();
      }
      compared += !RunFunction(after, before, left, writes).ok();
      continue;
    }
    const auto got = RunFunction(after, before, left, writes);
    if (!got.ok()) return got.status();
    if (got->size() != want->size()) {
      return absl::InternalError("another number of outputs");
    }
    ++compared;
    for (size_t i = 0; i < want->size(); ++i) {
      const std::string difference = Compare((*got)[i], (*want)[i], contract, max_error);
      if (difference.empty()) continue;
      return absl::InternalError(absl::StrCat("round ", round, ", output ", i, ": ", difference));
    }
  }
  if (compared == 0) {
    return absl::FailedPreconditionError("no input could be made that it runs on");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSameResults(const Module& before, const Module& after, NumericContract contract,
                              const Module& inputs, double max_error) {
  for (const auto& function : before.functions()) {
    const Graph* other = after.FindFunction(function->name());
    if (other == nullptr) {
      return absl::InternalError(absl::StrCat("@", function->name(), " is gone"));
    }
    absl::Status status = CompareFunctions(*function, *other, contract,
                                           *inputs.FindFunction(function->name()), max_error);
    if (status.ok()) continue;
    return Annotate(status, absl::StrCat("@", function->name()));
  }
  return absl::OkStatus();
}

}  // namespace weft::golden
