#include "backends/cpu/emit/reductions.h"

#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/cpu/emit/internal.h"

namespace weft::cpu::cc {
namespace {

// The value with which accumulators of `op` start.
std::string Identity(ReduceOp op, DType dtype) {
  const bool largest = op == ReduceOp::kMaximum || op == ReduceOp::kArgMax;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kOr:
      return "0";
    case ReduceOp::kProduct:
      return "1";
    case ReduceOp::kAnd:
      return "-1";
    default:
      break;
  }
  if (IsFloat(dtype)) return absl::StrCat(largest ? "-" : "", "__builtin_inf()");
  if (dtype == DType::kBool) return largest ? "0" : "-1";
  if (dtype == DType::kU64) return largest ? "0" : "-1";
  const int64_t bound = largest ? IntMin(dtype) : IntMax(dtype);
  if (bound == std::numeric_limits<int64_t>::min()) {
    return "(-0x7fffffffffffffffL - 1)";
  }
  return absl::StrCat(bound, "L");
}

std::string Combine(ReduceOp op, const std::string& a, const std::string& b) {
  switch (op) {
    case ReduceOp::kSum:
      return absl::StrCat(a, " + ", b);
    case ReduceOp::kProduct:
      return absl::StrCat(a, " * ", b);
    case ReduceOp::kMaximum:
      return absl::StrCat("w_maximum(", a, ", ", b, ")");
    case ReduceOp::kMinimum:
      return absl::StrCat("w_minimum(", a, ", ", b, ")");
    case ReduceOp::kAnd:
      return absl::StrCat(a, " & ", b);
    default:
      return absl::StrCat(a, " | ", b);
  }
}

const char* AcrossLanes(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "w_hsum";
    case ReduceOp::kProduct:
      return "w_hmul";
    case ReduceOp::kMaximum:
      return "w_hmax";
    case ReduceOp::kMinimum:
      return "w_hmin";
    case ReduceOp::kAnd:
      return "w_hand";
    default:
      return "w_hor";
  }
}

}  // namespace

bool LooksForPosition(const Reduction& r) {
  return r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
}

std::string ReductionEmitter::Results() const {
  std::string text;
  for (size_t i = 0; i < stage_.reductions.size(); ++i) {
    const Reduction& r = stage_.reductions[i];
    const DType dtype = LooksForPosition(r) ? DType::kI64 : r.dtype;
    absl::StrAppend(&text, ValueType(dtype, shape_.columns && shape_.has_lanes), " r", first_ + i,
                    ";\n");
  }
  return text;
}

std::string ReductionEmitter::Accumulators() const {
  std::string text;
  for (size_t i = 0; i < stage_.reductions.size(); ++i) {
    const Reduction& r = stage_.reductions[i];
    const DType dtype = AccumulatorType(r);
    absl::StrAppend(&text, ValueType(dtype, true), " c", i, "[", shape_.copies,
                    "]; for (auto& c : c", i, ") c = w_splat((", ValueType(dtype, false), ")",
                    Identity(r.op, dtype), ");\n");
    if (HasBlocks(r)) {
      absl::StrAppend(&text, ValueType(dtype, true), " s", i, "[", shape_.copies, "] = {};\n");
    }
    if (LooksForPosition(r)) {
      absl::StrAppend(&text, "v_i64 k", i, "[", shape_.copies, "]; for (auto& k : k", i,
                      ") k = w_splat((i64)-1);\n");
    }
  }
  return text;
}

std::string ReductionEmitter::Accumulate() const {
  std::string text;
  for (size_t i = 0; i < stage_.reductions.size(); ++i) {
    const Reduction& r = stage_.reductions[i];
    const DType dtype = AccumulatorType(r);
    const std::string acc = absl::StrCat("c", i, "[c]");
    // A uniform value counts once per lane.
    std::string value = absl::StrCat("w_lanes<", ValueType(dtype, true), ">(x", r.value, ")");
    if (LooksForPosition(r)) {
      // True is -1, so the sign is flipped to order it after false.
      if (dtype == DType::kBool) value = absl::StrCat("-", value);
      const std::string position =
          shape_.columns ? absl::StrCat("w_splat((i64)(", shape_.position, "))")
                         : absl::StrCat("w_v_i64(w_iota()) + (", shape_.position, ")");
      absl::StrAppend(&text, "w_arg<", r.op == ReduceOp::kArgMax ? "true" : "false", ">(&", acc,
                      ", &k", i, "[c], ", value, ", ", position, ", t);\n");
      continue;
    }
    const std::string picked =
        shape_.columns ? value
                       : absl::StrCat("w_pick(t, ", value, ", w_splat((", ValueType(dtype, false),
                                      ")", Identity(r.op, dtype), "))");
    absl::StrAppend(&text, acc, " = ", Combine(r.op, acc, picked), ";\n");
  }
  return text;
}

bool ReductionEmitter::HasBlocks(const Reduction& r) const {
  if (r.op != ReduceOp::kSum || !IsFloat(r.dtype)) return false;
  const SymInt values = shape_.block_values;
  return !values.is_constant() || values.value() >= shape_.block;
}

std::string ReductionEmitter::AddBlocks() const {
  std::string text;
  for (size_t i = 0; i < stage_.reductions.size(); ++i) {
    if (!HasBlocks(stage_.reductions[i])) continue;
    const std::string type = ValueType(stage_.reductions[i].dtype, true);
    for (int c = 0; c < shape_.copies; ++c) {
      const std::string index = absl::StrCat(i, "[", c, "]");
      absl::StrAppend(&text, "s", index, " = s", index, " + c", index, "; c", index, " = ", type,
                      "{};\n");
    }
  }
  return text;
}

std::string ReductionEmitter::Finish() const {
  std::string text;
  const char* lane = shape_.columns && !shape_.has_lanes ? "[0]" : "";
  for (size_t i = 0; i < stage_.reductions.size(); ++i) {
    const Reduction& r = stage_.reductions[i];
    absl::StrAppend(&text, "r", first_ + i, " = ");
    if (LooksForPosition(r)) {
      if (shape_.columns) {
        absl::StrAppend(&text, "k", i, "[0]", lane, ";\n");
      } else {
        absl::StrAppend(&text, "w_arg_all<", r.op == ReduceOp::kArgMax ? "true" : "false", ">(c", i,
                        "[0], k", i, "[0]);\n");
      }
      continue;
    }
    const auto partial = [&](int c) {
      const std::string index = absl::StrCat(i, "[", c, "]");
      return HasBlocks(r) ? absl::StrCat("(c", index, " + s", index, ")")
                          : absl::StrCat("c", index);
    };
    std::string all = partial(0);
    for (int c = 1; c < shape_.copies; ++c) all = Combine(r.op, all, partial(c));
    if (!shape_.columns) all = absl::StrCat(AcrossLanes(r.op), "(", all, ")");
    absl::StrAppend(&text, all, lane, ";\n");
  }
  return text;
}

}  // namespace weft::cpu::cc
