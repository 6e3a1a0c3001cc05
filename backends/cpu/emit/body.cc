// The body of a stage as statements.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/cpu/emit/internal.h"
#include "base/status_macros.h"
#include "lowering/emit/scalar_spelling.h"

namespace weft::cpu::cc {
namespace {

using emit::GuardText;
using emit::LinearText;

std::string FloatText(double v, DType dtype) {
  const char* suffix = dtype == DType::kF32 ? "f" : "";
  if (std::isnan(v)) return absl::StrCat("__builtin_nan", suffix, "(\"\")");
  if (std::isinf(v)) {
    return absl::StrCat(v < 0 ? "-" : "", "__builtin_inf", suffix, "()");
  }
  return absl::StrFormat("%a%s", dtype == DType::kF32 ? float(v) : v, suffix);
}

std::string IntText(int64_t v, DType dtype) {
  if (v == std::numeric_limits<int64_t>::min()) return "(-0x7fffffffffffffffL - 1)";
  return absl::StrCat("(", DTypeName(dtype), ")", v, "L");
}

class BodyEmitter {
 public:
  BodyEmitter(const Kernel& kernel, const Stage& stage, const LoopOrder& order,
              absl::Span<const Placement> reduced, SizeTable* sizes, std::set<ScalarOp>* functions,
              StageCode* code)
      : kernel_(kernel),
        stage_(stage),
        order_(order),
        reduced_(reduced),
        sizes_(*sizes),
        functions_(*functions),
        code_(*code) {}

  absl::Status Emit();

 private:
  // The text of instruction `i` as an operand: a splat if `vector` is set and it is a scalar.
  std::string Ref(int i, bool vector) const;
  absl::StatusOr<std::string> Expression(const Instr& instr, Placement p);
  std::string Call(const Instr& instr, absl::string_view function, bool vector);
  std::string Spell(const Instr& instr, const emit::Spelling& spelling, bool vector);
  std::string Convert(const Instr& instr, bool vector) const;
  std::string Compare(const std::string& text, bool vector) const;
  std::string Leaf(const Instr& instr, Placement p);
  absl::Status EmitLoad(int i, Placement p);
  void EmitLanes(int i, Placement p);
  bool NeedsLanes(const Access& access) const;
  std::string TermText(const IndexTerm& term, absl::string_view lane);
  std::string OffsetText(const Access& access, absl::string_view lane);
  const Instr* RoundedQuotient(const Instr& instr, bool vector) const;
  void EmitStore(const Store& store);
  void EmitKeep(const Keep& keep);

  bool IsVector(int i) const { return code_.placements[i].vector; }
  SymInt VectorStride(const Access& access) const {
    return order_.vector_loop < 0 ? SymInt(0) : access.strides[order_.vector_loop];
  }
  std::string& At(int level) { return code_.at_level[level]; }
  int Innermost() const { return static_cast<int>(code_.at_level.size()) - 1; }

  const Kernel& kernel_;
  const Stage& stage_;
  const LoopOrder& order_;
  absl::Span<const Placement> reduced_;
  SizeTable& sizes_;
  std::set<ScalarOp>& functions_;
  StageCode& code_;
};

std::string BodyEmitter::Ref(int i, bool vector) const {
  const std::string name = absl::StrCat("x", i);
  if (!vector || IsVector(i)) return name;
  const DType dtype = stage_.body[i].dtype;
  return absl::StrCat("w_splat((", dtype == DType::kBool ? "i32" : DTypeName(dtype), ")", name,
                      ")");
}

std::string BodyEmitter::Compare(const std::string& text, bool vector) const {
  return absl::StrCat(vector ? "w_vm(" : "w_m(", text, ")");
}

// Converts as x86 does: floats to narrow integers through i32, to u32 through i64; a bool is a
// mask.
std::string BodyEmitter::Convert(const Instr& instr, bool vector) const {
  const DType from = stage_.body[instr.operands[0]].dtype;
  const DType to = instr.dtype;
  std::string x = Ref(instr.operands[0], vector);
  if (from == to) return x;
  if (to == DType::kBool) return Compare(absl::StrCat(x, " != 0"), vector);
  const char* prefix = vector ? "w_v_" : "w_";
  if (from == DType::kBool) x = absl::StrCat("-", x);
  if (IsFloat(from) && to == DType::kU64) return absl::StrCat("w_to_u64(", x, ")");
  if (IsFloat(from) && IsInt(to)) {
    const bool wide = to == DType::kU32 || to == DType::kI64;
    x = absl::StrCat(prefix, wide ? "i64" : "i32", "(", x, ")");
  }
  return absl::StrCat(prefix, DTypeName(to), "(", x, ")");
}

std::string BodyEmitter::Leaf(const Instr& instr, Placement p) {
  switch (instr.op) {
    case ScalarOp::kConst:
      if (instr.dtype == DType::kBool) return instr.int_imm ? "-1" : "0";
      return IsFloat(instr.dtype) ? FloatText(instr.imm, instr.dtype)
                                  : IntText(instr.int_imm, instr.dtype);
    case ScalarOp::kSize:
      return absl::StrCat("(", DTypeName(instr.dtype), ")", sizes_.Text(instr.size));
    case ScalarOp::kReduced:
      return absl::StrCat("r", instr.loop);
    case ScalarOp::kRow:
      return p.vector ? absl::StrCat("w_load(row", instr.loop, " + q, w_full{})")
                      : absl::StrCat("w_load1(row", instr.loop, " + q)");
    default: {
      const std::string& name = order_.names[instr.loop];
      if (!p.vector) return absl::StrCat("(", DTypeName(instr.dtype), ")", name);
      return absl::StrCat("w_v_", DTypeName(instr.dtype), "(w_v_i64(w_iota()) + ", name, ")");
    }
  }
}

std::string BodyEmitter::Call(const Instr& instr, absl::string_view function, bool vector) {
  functions_.insert(instr.op);
  std::string text = absl::StrCat(function, "(");
  for (int k = 0; k < 3 && instr.operands[k] >= 0; ++k) {
    absl::StrAppend(&text, k > 0 ? ", " : "", Ref(instr.operands[k], vector));
  }
  return text + ")";
}

std::string BodyEmitter::Spell(const Instr& instr, const emit::Spelling& spelling, bool vector) {
  if (spelling.form == emit::SpellingForm::kCall) return Call(instr, spelling.text, vector);
  const std::string a = Ref(instr.operands[0], vector);
  const std::string b = Ref(instr.operands[1], vector);
  if (spelling.form == emit::SpellingForm::kInfix) {
    // The cast undoes the promotion of narrow integers; signed overflow would be undefined.
    return absl::StrCat("(", ValueType(instr.dtype, vector), ")(", a, " ", spelling.text, " ", b,
                        ")");
  }
  // True is -1, so the sign is flipped to order it after false.
  const char* sign = stage_.body[instr.operands[0]].dtype == DType::kBool ? "-" : "";
  return Compare(absl::StrCat(sign, a, " ", spelling.text, " ", sign, b), vector);
}

// The division by one number for all lanes whose quotients `instr` rounds to integers; else null.
const Instr* BodyEmitter::RoundedQuotient(const Instr& instr, bool vector) const {
  if (!vector || instr.op != ScalarOp::kRoundEven || instr.dtype != DType::kF32) return nullptr;
  const Instr& quotient = stage_.body[instr.operands[0]];
  const bool by_one = quotient.op == ScalarOp::kDiv && quotient.dtype == DType::kF32 &&
                      !IsVector(quotient.operands[1]);
  return by_one ? &quotient : nullptr;
}

absl::StatusOr<std::string> BodyEmitter::Expression(const Instr& instr, Placement p) {
  const bool v = p.vector;
  const auto ref = [&](int k) { return Ref(instr.operands[k], v); };
  const DType from = instr.operands[0] >= 0 ? stage_.body[instr.operands[0]].dtype : instr.dtype;
  if (const Instr* quotient = RoundedQuotient(instr, v)) {
    return absl::StrCat("w_nearest_quotient(", Ref(quotient->operands[0], v), ", x",
                        quotient->operands[1], ")");
  }
  emit::Spelling spelling;
  if (emit::FindSpelling(instr.op, emit::Dialect::kVectorCc, &spelling)) {
    return Spell(instr, spelling, v);
  }
  switch (instr.op) {
    case ScalarOp::kConst:
    case ScalarOp::kSize:
    case ScalarOp::kIndex:
    case ScalarOp::kRow:
    case ScalarOp::kReduced:
      return Leaf(instr, p);
    case ScalarOp::kConvert:
      return Convert(instr, v);
    case ScalarOp::kRound:
      if (instr.via == instr.dtype) return ref(0);
      return absl::StrCat("w_round_", DTypeName(instr.via), "(", ref(0), ")");
    case ScalarOp::kBitcast:
      // A bool in memory is 0 or 1.
      if (from == DType::kBool || instr.dtype == DType::kBool) return Convert(instr, v);
      if (v) return absl::StrCat("(", ValueType(instr.dtype, true), ")", ref(0));
      return absl::StrCat("__builtin_bit_cast(", DTypeName(instr.dtype), ", ", ref(0), ")");
    case ScalarOp::kDiv:
      // The divisor is the same for all lanes.
      if (v && instr.dtype == DType::kF32 && !IsVector(instr.operands[1])) {
        return absl::StrCat("w_div(", ref(0), ", x", instr.operands[1], ")");
      }
      return absl::StrCat(ref(0), " / ", ref(1));
    case ScalarOp::kNeg:
      return absl::StrCat("(", ValueType(instr.dtype, v), ")(-", ref(0), ")");
    case ScalarOp::kPow:
      return Call(instr, IsFloat(instr.dtype) ? "w_pow" : "w_ipow", v);
    case ScalarOp::kFmod:
      return Call(instr, IsFloat(instr.dtype) ? "w_fmod" : "w_trem", v);
    case ScalarOp::kBitNot:
    case ScalarOp::kNot:
      return absl::StrCat("(", ValueType(instr.dtype, v), ")(~", ref(0), ")");
    case ScalarOp::kRsqrt:
      return absl::StrCat("1 / w_sqrt(", ref(0), ")");
    case ScalarOp::kReciprocal:
      return absl::StrCat("1 / ", ref(0));
    case ScalarOp::kSigmoid:
      functions_.insert(ScalarOp::kSigmoid);
      return absl::StrCat("1 / (1 + w_exp(-", ref(0), "))");
    case ScalarOp::kIsNan:
      return Compare(absl::StrCat(ref(0), " != ", ref(0)), v);
    case ScalarOp::kIsInf:
      return Compare(absl::StrCat("w_abs(", ref(0), ") == ", FloatText(INFINITY, from)), v);
    case ScalarOp::kSelect:
      return absl::StrCat("w_select(", ref(0), ", ", ref(1), ", ", ref(2), ")");
    default:
      return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name, ": instruction ",
                                                   static_cast<int>(instr.op), " as C++"));
  }
}

bool BodyEmitter::NeedsLanes(const Access& access) const {
  const SymInt stride = VectorStride(access);
  if (!stride.Is(0) && !stride.Is(1)) return true;
  for (const IndexTerm& term : access.terms) {
    if (IsVector(term.value)) return true;
  }
  for (const Access::Guard& guard : access.guards) {
    if (order_.vector_loop >= 0 && !guard.strides[order_.vector_loop].Is(0)) {
      return true;
    }
  }
  return false;
}

// The text of the index; a negative index counts from the bound.
std::string BodyEmitter::TermText(const IndexTerm& term, absl::string_view lane) {
  std::string index = absl::StrCat("x", term.value);
  if (IsVector(term.value)) absl::StrAppend(&index, "[", lane, "]");
  code_.checks = true;
  return absl::StrCat("w_index((long)", index, ", ", sizes_.Text(term.bound), ", &bad) * ",
                      sizes_.Text(term.stride));
}

std::string BodyEmitter::OffsetText(const Access& access, absl::string_view lane) {
  std::string text = LinearText(access.offset, access.strides, order_, lane, &sizes_);
  for (const IndexTerm& term : access.terms) {
    absl::StrAppend(&text, " + ", TermText(term, lane));
  }
  return text;
}

// Loads or stores element by element, if lanes are not contiguous or not all accessed.
void BodyEmitter::EmitLanes(int i, Placement p) {
  const Instr& instr = stage_.body[i];
  const std::string name = absl::StrCat("x", i);
  const std::string start = instr.access.otherwise >= 0
                                ? Ref(instr.access.otherwise, true)
                                : absl::StrCat(ValueType(instr.dtype, true), "{}");
  absl::StrAppend(&At(p.level), ValueType(instr.dtype, true), " ", name, " = ", start,
                  "; for (int l = 0; l < t.n; ++l) if (",
                  GuardText(instr.access, order_, "l", &sizes_), ") ", name, "[l] = w_load1(a",
                  instr.access.arg, " + ", OffsetText(instr.access, "l"), ");\n");
}

absl::Status BodyEmitter::EmitLoad(int i, Placement p) {
  const Instr& instr = stage_.body[i];
  const DType memory = kernel_.args[instr.access.arg].dtype;
  if (LoadedType(memory) != instr.dtype) {
    return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name, ": a load of ",
                                                 DTypeName(memory), " as ",
                                                 DTypeName(instr.dtype)));
  }
  if (p.vector && NeedsLanes(instr.access)) {
    EmitLanes(i, p);
    return absl::OkStatus();
  }
  const bool unit = p.vector && VectorStride(instr.access).Is(1);
  std::string address = absl::StrCat("a", instr.access.arg, " + ", OffsetText(instr.access, ""));
  std::string text =
      unit ? absl::StrCat("w_load(", address, ", t)") : absl::StrCat("w_load1(", address, ")");
  if (p.vector && !unit) text = absl::StrCat("w_splat(", text, ")");
  if (!instr.access.guards.empty()) {
    // All lanes use the same element.
    std::string other = instr.access.otherwise >= 0
                            ? Ref(instr.access.otherwise, p.vector)
                            : absl::StrCat(ValueType(instr.dtype, p.vector), "{}");
    text = absl::StrCat(GuardText(instr.access, order_, "", &sizes_), " ? ", text, " : ", other);
  }
  absl::StrAppend(&At(p.level), ValueType(instr.dtype, p.vector), " x", i, " = ", text, ";\n");
  return absl::OkStatus();
}

// Stores are at the innermost level of their stage.
void BodyEmitter::EmitStore(const Store& store) {
  const Access& access = store.access;
  const bool vector = order_.vector_loop >= 0 && order_.vector_level <= Innermost();
  std::string& out = At(Innermost());
  const std::string base = absl::StrCat("a", access.arg, " + ");
  if (!vector) {
    absl::StrAppend(&out, "w_store1(", base, OffsetText(access, ""), ", x", store.value, ");\n");
  } else if (!NeedsLanes(access) && VectorStride(access).Is(1)) {
    absl::StrAppend(&out, "w_store(", base, OffsetText(access, ""), ", ", Ref(store.value, true),
                    ", t);\n");
  } else {
    absl::StrAppend(&out, "{ auto s = ", Ref(store.value, true),
                    "; for (int l = 0; l < t.n; ++l) w_store1(", base, OffsetText(access, "l"),
                    ", s[l]); }\n");
  }
}

void BodyEmitter::EmitKeep(const Keep& keep) {
  absl::StrAppend(&code_.at_level.back(), "w_store(row", keep.row, " + q, ", Ref(keep.value, true),
                  ", w_full{});\n");
}

absl::Status BodyEmitter::Emit() {
  const int count = static_cast<int>(stage_.body.size());
  code_.placements = emit::PlaceBody(stage_, order_, reduced_, Innermost());
  for (int i = 0; i < count; ++i) {
    const Instr& instr = stage_.body[i];
    const Placement p = code_.placements[i];
    if (instr.op == ScalarOp::kLoad) {
      WEFT_RETURN_IF_ERROR(EmitLoad(i, p));
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(std::string text, Expression(instr, p));
    absl::StrAppend(&At(p.level), ValueType(instr.dtype, p.vector), " x", i, " = ", text, ";\n");
  }
  for (const Keep& keep : stage_.keeps) EmitKeep(keep);
  for (const Store& store : stage_.stores) EmitStore(store);
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const LoopOrder& order,
                      absl::Span<const Placement> reduced, SizeTable* sizes,
                      std::set<ScalarOp>* functions, StageCode* code) {
  return BodyEmitter(kernel, stage, order, reduced, sizes, functions, code).Emit();
}

}  // namespace weft::cpu::cc
