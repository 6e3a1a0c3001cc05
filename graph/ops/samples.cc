#include "graph/ops/samples.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/host_buffer.h"
#include "graph/ir/attr.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += kGoldenRatio64;
    return MixBits(state_);
  }
  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

double DefaultMin(DType dtype) {
  if (IsUnsignedInt(dtype) || dtype == DType::kBool) return 0;
  return IsInt(dtype) ? -4 : -2;
}

double DefaultMax(DType dtype) {
  if (dtype == DType::kBool) return 1;
  return IsInt(dtype) ? 4 : 2;
}

std::vector<double> Elements(const SampleOperand& operand, DType dtype, int64_t count,
                             Random& random) {
  std::vector<double> elements(count);
  const double min = operand.min.value_or(DefaultMin(dtype));
  const double max = operand.max.value_or(DefaultMax(dtype));
  for (int64_t i = 0; i < count; ++i) {
    if (!operand.values.empty()) {
      elements[i] = operand.values[i % operand.values.size()];
    } else if (IsFloat(dtype) || IsComplex(dtype)) {
      elements[i] = min + random.Unit() * (max - min);
    } else {
      elements[i] = min + std::floor(random.Unit() * (max - min + 1));
    }
  }
  return elements;
}

HostTensor Tensor(const SampleOperand& operand, Random& random) {
  const Type type = operand.type;
  const auto dims = type.static_dims();
  WEFT_CHECK(dims.has_value()) << type.ToString();
  HostTensor t(type.dtype(), *dims);
  if (!IsComplex(type.dtype())) {
    t.WriteDoubles(Elements(operand, type.dtype(), t.numel(), random));
    return t;
  }
  // Pairs of real and imaginary parts, as a tensor of floats on the same bytes.
  const DType part = type.dtype() == DType::kC32   ? DType::kF16
                     : type.dtype() == DType::kC64 ? DType::kF32
                                                   : DType::kF64;
  auto parts = HostTensor::View(t.buffer(), part, {t.numel() * 2});
  WEFT_CHECK(parts.ok()) << parts.status().ToString();
  parts->WriteDoubles(Elements(operand, part, parts->numel(), random));
  return t;
}

}  // namespace

Sample Instantiate(const Sample& sample) {
  absl::flat_hash_map<SymInt, int64_t> values;
  const auto value_of = [&](SymInt symbol) -> std::optional<SymInt> {
    const int64_t next = 3 + static_cast<int64_t>(values.size());
    return SymInt(values.emplace(symbol, next).first->second);
  };
  Sample out = sample;
  for (SampleOperand& operand : out.operands) {
    if (operand.type.kind() != Type::Kind::kNone) {
      operand.type = operand.type.Substitute(value_of);
    }
  }
  if (out.attrs->is_symbolic()) out.attrs = out.attrs->Substitute(value_of);
  return out;
}

std::vector<Type> SampleTypes(const Sample& sample) {
  std::vector<Type> types;
  for (const SampleOperand& o : sample.operands) types.push_back(o.type);
  return types;
}

std::vector<HostTensor> SampleInputs(const Sample& sample, uint64_t seed) {
  Random random(seed);
  std::vector<HostTensor> inputs;
  for (const SampleOperand& operand : sample.operands) {
    if (operand.type.is_tensor()) {
      inputs.push_back(Tensor(operand, random));
    } else if (operand.type.is_symint()) {
      inputs.push_back(HostTensor::ScalarInt(DType::kI64, operand.type.symint().value()));
    } else {
      inputs.emplace_back();
    }
  }
  return inputs;
}

}  // namespace weft
