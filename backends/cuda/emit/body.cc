// The body of a stage as statements of one thread.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "backends/cuda/emit/internal.h"
#include "base/status_macros.h"
#include "lowering/emit/scalar_spelling.h"

namespace weft::cuda {
namespace {

using emit::GuardText;
using emit::LinearText;

std::string FloatText(double v, DType dtype) {
  const bool single = dtype == DType::kF32;
  if (std::isnan(v)) return single ? "w_nan32()" : "w_nan64()";
  if (std::isinf(v)) {
    return absl::StrCat(v < 0 ? "-" : "", single ? "w_inf32()" : "w_inf64()");
  }
  return absl::StrFormat("%a%s", single ? float(v) : v, single ? "f" : "");
}

std::string IntText(int64_t v, DType dtype) {
  if (v == std::numeric_limits<int64_t>::min()) return "(-0x7fffffffffffffffL - 1)";
  return absl::StrCat("(", DTypeName(dtype), ")", v, "L");
}

// The dtype of a loaded element.
DType LoadedDType(DType memory) {
  return memory == DType::kF16 || memory == DType::kBF16 ? DType::kF32 : memory;
}

// The values that loads give in a function of values: its parameters.
enum class Parameters : uint8_t {
  kNone,      // Not in one: they read memory.
  kArgument,  // a0, a1, ... for the arguments.
  kLoad,      // The routine's result for argument 0, else l3, ... for the instructions.
};

class BodyEmitter {
 public:
  BodyEmitter(const Kernel& kernel, const Stage& stage, const emit::LoopOrder& order,
              const Groups& groups, absl::Span<const emit::Placement> reduced, bool inner,
              emit::SizeTable* sizes, StageCode* code)
      : kernel_(kernel),
        stage_(stage),
        order_(order),
        groups_(groups),
        reduced_(reduced),
        inner_(inner),
        sizes_(*sizes),
        code_(*code) {}

  absl::Status Emit();
  // The body as one of values: nothing is stored.
  absl::Status EmitValues(Parameters parameters) {
    parameters_ = parameters;
    return Emit();
  }

 private:
  static std::string Ref(int i) { return absl::StrCat("x", i); }
  absl::StatusOr<std::string> Expression(const Instr& instr);
  std::string Spell(const Instr& instr, const emit::Spelling& spelling) const;
  std::string Convert(const Instr& instr) const;
  std::string Leaf(const Instr& instr);
  std::string Offset(const Access& access);
  bool Joined(const Access& access) const { return groups_.size > 1 && IsJoined(access, groups_); }
  // The offset of the first element of a group.
  std::string FirstOffset(const Access& access);
  absl::StatusOr<std::string> Load(const Instr& instr, size_t number);
  void EmitStore(const Store& store, size_t number);

  const Kernel& kernel_;
  const Stage& stage_;
  const emit::LoopOrder& order_;
  const Groups& groups_;
  absl::Span<const emit::Placement> reduced_;
  const bool inner_;
  Parameters parameters_ = Parameters::kNone;
  emit::SizeTable& sizes_;
  StageCode& code_;
};

std::string BodyEmitter::Convert(const Instr& instr) const {
  const DType from = stage_.body[instr.operands[0]].dtype;
  const DType to = instr.dtype;
  const std::string x = Ref(instr.operands[0]);
  if (from == to) return x;
  if (to == DType::kBool) return absl::StrCat(x, " != 0");
  // As on the host: floats become narrow integers through i32, u32 through i64; numbers that do not
  // fit become the least integer.
  if (IsFloat(from) && to == DType::kU64) return absl::StrCat("w_to_u64(", x, ")");
  if (IsFloat(from) && IsInt(to)) {
    const bool wide = to == DType::kU32 || to == DType::kI64;
    return absl::StrCat("(", DTypeName(to), ")", wide ? "w_to_i64(" : "w_to_i32(", x, ")");
  }
  return absl::StrCat("(", DTypeName(to), ")", x);
}

std::string BodyEmitter::Leaf(const Instr& instr) {
  switch (instr.op) {
    case ScalarOp::kConst:
      if (instr.dtype == DType::kBool) return instr.int_imm ? "true" : "false";
      return IsFloat(instr.dtype) ? FloatText(instr.imm, instr.dtype)
                                  : IntText(instr.int_imm, instr.dtype);
    case ScalarOp::kSize:
      return absl::StrCat("(", DTypeName(instr.dtype), ")", sizes_.Text(instr.size));
    case ScalarOp::kReduced:
      return absl::StrCat("r", instr.loop, groups_.reduced ? "[j]" : "");
    case ScalarOp::kRow:
      return absl::StrCat("w_row<", ValueType(instr.dtype), ", row_slot>(rows, row", instr.loop,
                          ")");
    default:
      return absl::StrCat("(", DTypeName(instr.dtype), ")", order_.names[instr.loop]);
  }
}

std::string BodyEmitter::Spell(const Instr& instr, const emit::Spelling& spelling) const {
  const std::string a = Ref(instr.operands[0]);
  if (spelling.form == emit::SpellingForm::kCall) {
    std::string text = absl::StrCat(spelling.text, "(", a);
    for (int k = 1; k < 3 && instr.operands[k] >= 0; ++k) {
      absl::StrAppend(&text, ", ", Ref(instr.operands[k]));
    }
    return text + ")";
  }
  const std::string b = Ref(instr.operands[1]);
  if (spelling.form == emit::SpellingForm::kCompare) {
    return absl::StrCat(a, " ", spelling.text, " ", b);
  }
  if (IsSignedInt(instr.dtype) &&
      (instr.op == ScalarOp::kAdd || instr.op == ScalarOp::kSub || instr.op == ScalarOp::kMul)) {
    // Signed overflow would be undefined.
    return absl::StrCat("(", ValueType(instr.dtype), ")((u64)", a, " ", spelling.text, " (u64)", b,
                        ")");
  }
  // The cast undoes the promotion of narrow integers.
  return absl::StrCat("(", ValueType(instr.dtype), ")(", a, " ", spelling.text, " ", b, ")");
}

absl::StatusOr<std::string> BodyEmitter::Expression(const Instr& instr) {
  const auto ref = [&](int k) { return Ref(instr.operands[k]); };
  const DType from = instr.operands[0] >= 0 ? stage_.body[instr.operands[0]].dtype : instr.dtype;
  const std::string type = ValueType(instr.dtype);
  emit::Spelling spelling;
  if (emit::FindSpelling(instr.op, emit::Dialect::kVectorCc, &spelling)) {
    return Spell(instr, spelling);
  }
  switch (instr.op) {
    case ScalarOp::kConst:
    case ScalarOp::kSize:
    case ScalarOp::kIndex:
    case ScalarOp::kRow:
    case ScalarOp::kReduced:
      return Leaf(instr);
    case ScalarOp::kConvert:
      return Convert(instr);
    case ScalarOp::kRound:
      if (instr.via == instr.dtype) return ref(0);
      return absl::StrCat("w_round_", DTypeName(instr.via), "(", ref(0), ")");
    case ScalarOp::kBitcast:
      // A bool in memory is 0 or 1.
      if (from == DType::kBool || instr.dtype == DType::kBool) return Convert(instr);
      return absl::StrCat("w_bitcast<", type, ">(", ref(0), ")");
    case ScalarOp::kDiv:
      return absl::StrCat(ref(0), " / ", ref(1));
    case ScalarOp::kNeg:
      if (IsFloat(instr.dtype)) return absl::StrCat("-", ref(0));
      return absl::StrCat("(", type, ")(0 - (u64)", ref(0), ")");
    case ScalarOp::kPow:
      return absl::StrCat(IsFloat(instr.dtype) ? "w_pow(" : "w_ipow(", ref(0), ", ", ref(1), ")");
    case ScalarOp::kFmod:
      return absl::StrCat(IsFloat(instr.dtype) ? "w_fmod(" : "w_trem(", ref(0), ", ", ref(1), ")");
    case ScalarOp::kBitNot:
      return absl::StrCat("(", type, ")(~", ref(0), ")");
    case ScalarOp::kNot:
      return absl::StrCat("!", ref(0));
    case ScalarOp::kRsqrt:
      return absl::StrCat("1 / w_sqrt(", ref(0), ")");
    case ScalarOp::kReciprocal:
      return absl::StrCat("1 / ", ref(0));
    case ScalarOp::kSigmoid:
      return absl::StrCat("1 / (1 + w_exp(-", ref(0), "))");
    case ScalarOp::kIsNan:
      return absl::StrCat(ref(0), " != ", ref(0));
    case ScalarOp::kIsInf:
      return absl::StrCat("w_abs(", ref(0), ") == ", FloatText(INFINITY, from));
    case ScalarOp::kSelect:
      return absl::StrCat(ref(0), " ? ", ref(1), " : ", ref(2));
    default:
      return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name, ": instruction ",
                                                   static_cast<int>(instr.op), " as CUDA C++"));
  }
}

std::string BodyEmitter::Offset(const Access& access) {
  std::string text = LinearText(access.offset, access.strides, order_, "", &sizes_);
  for (const IndexTerm& term : access.terms) {
    code_.checks = true;
    absl::StrAppend(&text, " + w_index((i64)", Ref(term.value), ", ", sizes_.Text(term.bound),
                    ", bad) * ", sizes_.Text(term.stride));
  }
  return text;
}

std::string BodyEmitter::FirstOffset(const Access& access) {
  emit::LoopOrder order = order_;
  order.names[groups_.loop] = groups_.first;
  return LinearText(access.offset, access.strides, order, "", &sizes_);
}

absl::StatusOr<std::string> BodyEmitter::Load(const Instr& instr, size_t number) {
  const Access& access = instr.access;
  const DType memory = kernel_.args[access.arg].dtype;
  const DType loaded = LoadedDType(memory);
  if (loaded != instr.dtype) {
    return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name, ": a load of ",
                                                 DTypeName(memory), " as ",
                                                 DTypeName(instr.dtype)));
  }
  if (parameters_ == Parameters::kArgument) return absl::StrCat("a", access.arg);
  if (parameters_ == Parameters::kLoad) return access.arg == 0 ? "x" : absl::StrCat("l", number);
  if (Joined(access)) {
    absl::StrAppend(&code_.before, "const auto l", number, " = w_get_group<V>(a", access.arg, ", ",
                    FirstOffset(access), ");\n");
    return absl::StrCat("w_value(l", number, ".v[j])");
  }
  const std::string text = absl::StrCat("w_load(a", access.arg, ", ", Offset(access), ")");
  if (access.guards.empty()) return text;
  const std::string other = access.otherwise >= 0 ? Ref(access.otherwise)
                                                  : absl::StrCat("(", ValueType(instr.dtype), ")0");
  return absl::StrCat(GuardText(access, order_, "", &sizes_), " ? ", text, " : ", other);
}

void BodyEmitter::EmitStore(const Store& store, size_t number) {
  const Access& access = store.access;
  if (!Joined(access)) {
    absl::StrAppend(&code_.inside, "w_store(a", access.arg, ", ", Offset(access), ", x",
                    store.value, ");\n");
    return;
  }
  absl::StrAppend(&code_.before, "w_pack<", MemoryType(kernel_.args[access.arg].dtype), ", V> t",
                  number, ";\n");
  absl::StrAppend(&code_.inside, "w_set(&t", number, ".v[j], x", store.value, ");\n");
  absl::StrAppend(&code_.after, "w_put_group(a", access.arg, ", ", FirstOffset(access), ", t",
                  number, ");\n");
}

absl::Status BodyEmitter::Emit() {
  const std::vector<emit::Placement> placed =
      emit::PlaceBody(stage_, order_, reduced_, inner_ ? 1 : 0);
  for (size_t i = 0; i < stage_.body.size(); ++i) {
    const Instr& instr = stage_.body[i];
    std::string text;
    if (instr.op == ScalarOp::kLoad) {
      WEFT_ASSIGN_OR_RETURN(text, Load(instr, i));
    } else {
      WEFT_ASSIGN_OR_RETURN(text, Expression(instr));
    }
    absl::StrAppend(placed[i].level > 0 ? &code_.inside : &code_.outside, "const ",
                    ValueType(instr.dtype), " x", i, " = ", text, ";\n");
  }
  if (parameters_ != Parameters::kNone) return absl::OkStatus();
  for (const Keep& keep : stage_.keeps) {
    absl::StrAppend(&code_.inside, "w_keep<", ValueType(stage_.body[keep.value].dtype),
                    ", row_slot>(rows, row", keep.row, ", x", keep.value, ");\n");
  }
  for (size_t s = 0; s < stage_.stores.size(); ++s) EmitStore(stage_.stores[s], s);
  return absl::OkStatus();
}

}  // namespace

std::string LoadedType(DType dtype) { return ValueType(LoadedDType(dtype)); }

bool IsJoined(const Access& access, const Groups& groups) {
  if (!access.terms.empty() || !access.guards.empty()) return false;
  const auto fits = [&](SymInt s) { return !s.is_constant() || s.value() % groups.size == 0; };
  for (size_t k = 0; k < access.strides.size(); ++k) {
    const bool lane = static_cast<int>(k) == groups.loop;
    if (lane ? !access.strides[k].Is(1) : !fits(access.strides[k])) return false;
  }
  return fits(access.offset);
}

absl::Status EmitBody(const Kernel& kernel, const Stage& stage, const emit::LoopOrder& order,
                      const Groups& groups, absl::Span<const emit::Placement> reduced, bool inner,
                      emit::SizeTable* sizes, StageCode* code) {
  return BodyEmitter(kernel, stage, order, groups, reduced, inner, sizes, code).Emit();
}

absl::StatusOr<std::string> EmitScalarFunction(const Kernel& kernel, absl::string_view name) {
  const Stage& stage = kernel.nests[0].stages[0];
  emit::SizeTable sizes;
  StageCode code;
  const emit::LoopOrder no_loops;
  WEFT_RETURN_IF_ERROR(BodyEmitter(kernel, stage, no_loops, Groups(), {}, false, &sizes, &code)
                           .EmitValues(Parameters::kArgument));
  if (!sizes.Take().empty()) {
    return absl::UnimplementedError(absl::StrCat("kernel ", kernel.name, " depends on sizes"));
  }
  std::vector<std::string> parameters;
  for (size_t a = 0; a < kernel.args.size(); ++a) {
    if (kernel.args[a].written) continue;
    parameters.push_back(absl::StrCat(LoadedType(kernel.args[a].dtype), " a", a));
  }
  const int value = stage.stores[0].value;
  return absl::StrCat("W_FN ", ValueType(stage.body[value].dtype), " ", name, "(",
                      absl::StrJoin(parameters, ", "), ") {\n", code.outside, code.inside,
                      "return x", value, ";\n}\n");
}

absl::StatusOr<FinishFunction> EmitFinishFunction(const Kernel& kernel, absl::string_view name) {
  const Stage& stage = kernel.nests[0].stages[0];
  // Places matter to the caller alone.
  emit::LoopOrder order;
  order.names.resize(kernel.nests[0].outer.size());
  order.levels.resize(order.names.size());
  emit::SizeTable sizes;
  StageCode code;
  WEFT_RETURN_IF_ERROR(BodyEmitter(kernel, stage, order, Groups(), {}, false, &sizes, &code)
                           .EmitValues(Parameters::kLoad));
  FinishFunction function;
  std::string parameters = absl::StrCat(ValueType(kernel.args[0].dtype), " x");
  for (size_t i = 0; i < stage.body.size(); ++i) {
    const Instr& instr = stage.body[i];
    if (instr.op != ScalarOp::kLoad || instr.access.arg == 0) continue;
    function.loads.push_back(static_cast<int>(i));
    absl::StrAppend(&parameters, ", ", LoadedType(kernel.args[instr.access.arg].dtype), " l", i);
  }
  const int value = stage.stores[0].value;
  function.text =
      absl::StrCat("W_FN ", ValueType(stage.body[value].dtype), " ", name, "(", parameters, ") {\n",
                   code.outside, code.inside, "return x", value, ";\n}\n");
  return function;
}

}  // namespace weft::cuda
