// Other sizes, dtypes and values of a sample; folds.
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_def.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/conformance_case.h"

namespace weft {
namespace {

// OK, or what a caller may have caused.
bool IsAcceptable(const absl::Status& status) {
  return status.ok() || absl::IsInvalidArgument(status) || absl::IsOutOfRange(status);
}

}  // namespace

void CheckSmallSizes(const OpCase& c) {
  std::map<int64_t, bool> sizes;
  for (Type t : c.types) {
    if (!t.is_tensor()) continue;
    for (SymInt d : t.dims()) sizes[d.value()] = true;
  }
  for (const auto& [size, unused] : sizes) {
    for (int64_t small : {0, 1}) {
      TypeList types = c.types;
      for (Type& t : types) {
        if (!t.is_tensor()) continue;
        std::vector<SymInt> dims(t.dims().begin(), t.dims().end());
        for (SymInt& d : dims) d = d.Is(size) ? SymInt(small) : d;
        t = t.WithDims(dims);
      }
      SymbolTable symbols;
      if (!InferCase(c.op, types, c.sample.attrs, &symbols).ok()) continue;
      auto got = Evaluate(c.op, c.sample.attrs, SampleInputs(WithTypes(c.sample, types), kSeed));
      EXPECT_TRUE(IsAcceptable(got.status())) << Show(types) << got.status();
    }
  }
}

namespace {

// The sample with all operands of one dtype changed to another; nothing when
// Infer refuses.
std::optional<Sample> WithDType(const OpCase& c, DType from, DType to) {
  TypeList types = c.types;
  for (Type& t : types) {
    if (t.is_tensor() && t.dtype() == from) t = t.WithDType(to);
  }
  SymbolTable symbols;
  if (!InferCase(c.op, types, c.sample.attrs, &symbols).ok()) {
    return std::nullopt;
  }
  return WithTypes(c.sample, types);
}

// Calls `fn(sample, dtype)` for all these changes that Infer accepts.
void ForEachDType(const OpCase& c, absl::FunctionRef<void(const Sample&, DType)> fn) {
  std::set<DType> used;
  for (Type t : c.types) {
    if (t.is_tensor()) used.insert(t.dtype());
  }
  for (DType from : used) {
    for (int d = 0; d < kNumDTypes; ++d) {
      const DType to = static_cast<DType>(d);
      const auto sample = WithDType(c, from, to);
      if (!sample) continue;
      SCOPED_TRACE(absl::StrCat(DTypeName(from), " as ", DTypeName(to)));
      fn(*sample, to);
    }
  }
}

bool IsTiny(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) <= 8; }

}  // namespace

void CheckDTypes(const OpCase& c) {
  ForEachDType(c, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = SampleInputs(sample, kSeed);
    auto got = Evaluate(c.op, c.sample.attrs, inputs);
    EXPECT_TRUE(IsAcceptable(got.status())) << got.status();
    if (!got.ok() || c.op.eval() == nullptr) return;
    // Floats of 8 bits and fewer round too coarsely for a comparison.
    if (IsTiny(dtype)) return;
    CheckDecomposition({c.op, sample, SampleTypes(sample), inputs, *got});
  });
}

namespace {

std::vector<double> SpecialValues(DType dtype) {
  if (!IsFloat(dtype)) {
    return {0,
            1,
            2,
            3,
            -1,
            -2,
            7,
            63,
            64,
            100,
            -100,
            static_cast<double>(IntMin(dtype)),
            static_cast<double>(IntMax(dtype))};
  }
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {0.0, -0.0, 1,   -1,   0.5,  -2.5,  3,   1e-3, 1e-40, -1e-310,
          240, 1e4,  3e9, -3e9, 1e20, -1e38, inf, -inf, nan};
}

// For operand `k` of several rank-1 operands: all combinations come up.
HostTensor Combination(DType dtype, int k, int64_t per_operand, int64_t n) {
  const std::vector<double> special = SpecialValues(dtype);
  int64_t stride = 1;
  for (int i = 0; i < k; ++i) stride *= per_operand;
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = special[i / stride % per_operand % special.size()];
  }
  return HostTensor::FromDoubles(dtype, {n}, values);
}

// Rank-1 inputs with all combinations of special values; empty when the op
// does not take them.
Tensors SpecialInputs(const OpDef& op, const Sample& sample) {
  constexpr int64_t kPerOperand = 19;
  int64_t n = 1;
  for (const SampleOperand& o : sample.operands) {
    if (!o.type.is_tensor()) continue;
    if (IsComplex(o.type.dtype())) return {};
    n *= kPerOperand;
  }
  if (n > kPerOperand * kPerOperand * kPerOperand) return {};
  Tensors inputs;
  TypeList types;
  int k = 0;
  for (const SampleOperand& o : sample.operands) {
    inputs.push_back(o.type.is_tensor() ? Combination(o.type.dtype(), k++, kPerOperand, n)
                                        : HostTensor());
    types.push_back(TypeOfValue(inputs.back(), false));
  }
  SymbolTable symbols;
  if (!InferCase(op, types, sample.attrs, &symbols).ok()) return {};
  return inputs;
}

}  // namespace

void CheckSpecialValues(const OpCase& c) {
  if (!c.op.has(kPointwise)) return;
  ForEachDType(c, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = SpecialInputs(c.op, sample);
    if (inputs.empty()) return;
    auto want = Evaluate(c.op, c.sample.attrs, inputs);
    ASSERT_TRUE(want.ok()) << "special values: " << want.status();
    // Folds are exact for these values too.
    for (bool share : {false, true}) {
      OpModule plain(c.op, inputs, c.sample.attrs, false, 0, share);
      OpModule folded(c.op, inputs, c.sample.attrs, true, 0, share);
      if (!plain.status.ok()) continue;
      auto a = EvaluateGraph(*plain.graph, plain.inputs);
      auto b = EvaluateGraph(*folded.graph, folded.inputs);
      ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
      ExpectExact(*b, *a, "special values, folded");
    }
  });
}

// --- Folds ------------------------------------------------------------------

namespace {

void ExpectFoldAgrees(const OpDef& op, const Tensors& inputs, const AttrList* attrs,
                      uint64_t constants, bool share, bool twice, std::string what) {
  OpModule plain(op, inputs, attrs, false, constants, share);
  OpModule folded(op, inputs, attrs, true, constants, share);
  if (!plain.status.ok()) return;  // Not a legal combination.
  ASSERT_TRUE(folded.status.ok()) << what << ": " << folded.status;
  if (twice) {
    plain.ApplyAgain(op, attrs, false);
    folded.ApplyAgain(op, attrs, true);
    if (!plain.status.ok()) return;
    ASSERT_TRUE(folded.status.ok()) << what << ": " << folded.status;
  }
  ASSERT_EQ(plain.results.size(), folded.results.size()) << what;
  for (size_t i = 0; i < plain.results.size(); ++i) {
    if (op.has(kDataDependent)) break;  // Has its own symbols in each module.
    EXPECT_EQ(folded.results[i]->type(), plain.results[i]->type())
        << "folding changes the type: " << what;
  }
  auto want = EvaluateGraph(*plain.graph, plain.inputs);
  auto got = EvaluateGraph(*folded.graph, folded.inputs);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  ExpectExact(*got, *want, what);
}

// Scalars and full tensors of constants that often are neutral.
void CheckNeutralOperands(const OpCase& c, const Sample& sample) {
  const Tensors special = SpecialInputs(c.op, sample);
  if (special.size() != 2 || !special[0].valid() || !special[1].valid()) return;
  for (int side : {0, 1}) {
    const HostTensor& full = special[side];
    for (double value : {0.0, -0.0, 1.0, -1.0, 2.0}) {
      Tensors inputs = special;
      const std::string what = absl::StrCat("operand ", side, " is ", FloatToString(value), " in ",
                                            DTypeName(full.dtype()));
      inputs[side] = HostTensor::Scalar(full.dtype(), value);
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false, what);
      inputs[side] = HostTensor::FromDoubles(full.dtype(), full.dims(),
                                             std::vector<double>(full.numel(), value));
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false,
                       what + " everywhere");
      // The other operand is smaller than the result.
      inputs[1 - side] = HostTensor::Scalar(special[1 - side].dtype(), 3);
      ExpectFoldAgrees(c.op, inputs, c.sample.attrs, 1u << side, false, false,
                       what + " and broadcasts the other");
    }
  }
}

}  // namespace

void CheckFolds(const OpCase& c) {
  if (c.op.fold() == nullptr) return;
  const auto check = [&](uint64_t constants, bool share, bool twice, std::string what) {
    ExpectFoldAgrees(c.op, c.inputs, c.sample.attrs, constants, share, twice, what);
  };
  check(0, false, false, "no constants");
  check(~uint64_t{0}, false, false, "all constants");
  for (size_t i = 0; i < c.inputs.size() && i < 8; ++i) {
    check(uint64_t{1} << i, false, false, absl::StrCat("operand ", i));
  }
  bool same = c.types.size() > 1;
  for (Type t : c.types) same = same && t == c.types[0];
  if (same) check(0, true, false, "equal operands");
  if (c.types.size() == 1) check(0, false, true, "on its own result");
  if (!c.op.has(kPointwise)) return;
  ForEachDType(c, [&](const Sample& sample, DType dtype) { CheckNeutralOperands(c, sample); });
}

}  // namespace weft
