// Nests as loops. Two shapes:
//
//   rows: each point of the outer loops is taken alone, and the last inner loop
//   is computed in vectors; reductions end in a scalar.
//
//   columns: a vector of points along the last outer loop is taken at once, the
//   inner loops run inside; also where there are no inner loops.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/cpu/emit/internal.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::cpu::cc {
namespace {

using emit::LinearText;

// Of bodies larger than this one copy is enough to keep the units busy.
constexpr size_t kMaxUnrolledBody = 24;
constexpr int kUnroll = 4;
// Of a row that is fetched while the one before it is computed, and of which there is
// room for two in the first cache beside what is kept.
constexpr int64_t kMaxFetchedBytes = 16384;
// At most so many arguments are.
constexpr size_t kMaxFetched = 4;
// Of pointwise nests: so many arguments, each of them so far ahead.
constexpr int kMinStreams = 3;
constexpr int64_t kAheadBytes = 2048;

// How well the accesses of a nest suit vectors along a loop.
int Suits(const Access& access, int loop) {
  const SymInt stride = access.strides[loop];
  if (stride.Is(1)) return 2;
  return stride.Is(0) ? 0 : -4;
}

int Suits(const Nest& nest, int loop) {
  int score = 0;
  for (const Stage& stage : nest.stages) {
    for (const Instr& instr : stage.body) {
      if (instr.op == ScalarOp::kLoad) score += Suits(instr.access, loop);
    }
    for (const Store& store : stage.stores) score += Suits(store.access, loop);
  }
  return score;
}

// The value that `op` starts from.
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

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

// Functions that take as long as a dozen of additions.
bool IsMathFunction(ScalarOp op) {
  const bool root = op == ScalarOp::kSqrt || op == ScalarOp::kRsqrt || op == ScalarOp::kReciprocal;
  return op == ScalarOp::kPow || op == ScalarOp::kAtan2 || op == ScalarOp::kFmod ||
         (op >= ScalarOp::kExp && op <= ScalarOp::kLgamma && !root);
}

class NestEmitter {
 public:
  NestEmitter(const Kernel& kernel, const Nest& nest, const CcTarget& target, SizeTable* sizes,
              std::set<ScalarOp>* functions)
      : kernel_(kernel), nest_(nest), target_(target), sizes_(*sizes), functions_(*functions) {}

  // Statements that run the points [from, to) of this nest.
  absl::Status Emit(std::string* out);
  SymInt points() const { return Product(nest_.outer); }
  SymInt scratch_bytes() const;

 private:
  bool columns() const { return columns_; }
  bool has_vectors() const { return order_.vector_loop >= 0; }
  void ChooseOrder();
  void EmitPoint(absl::string_view from, int count, std::string* out);
  absl::Status EmitStages();
  absl::Status EmitStage(const Stage& stage, std::string* block);
  const Stage* BusiestStage() const;
  bool IsStreamed(const Access& access) const;
  std::string FetchAhead();
  std::string FetchStreams(const Stage& stage);
  std::string Loops(const Stage& stage, const StageCode& code);
  std::string VectorLoop(const Stage& stage, const std::string& body);
  std::string Accumulate(const Stage& stage);
  void DeclareReductions(const Stage& stage, int first);
  void Finish(const Stage& stage, int first, std::string* out);
  std::string FlatInner() const;
  int Copies(const Stage& stage) const;
  // The dtype that a reduction's values have.
  static DType ValueDType(const Stage& stage, const Reduction& r) {
    return IsArg(r.op) ? stage.body[r.value].dtype : r.dtype;
  }

  const Kernel& kernel_;
  const Nest& nest_;
  const CcTarget& target_;
  SizeTable& sizes_;
  std::set<ScalarOp>& functions_;
  LoopOrder order_;
  bool columns_ = false;
  std::vector<Placement> reduced_;
  std::string declared_;  // Results of reductions.
  std::string stages_;
};

void NestEmitter::ChooseOrder() {
  const int outer = static_cast<int>(nest_.outer.size());
  const int inner = static_cast<int>(nest_.inner.size());
  columns_ = inner == 0 || (outer > 0 && Suits(nest_, outer - 1) > Suits(nest_, outer + inner - 1));
  order_.num_outer = outer;
  order_.vector_loop = columns_ ? outer - 1 : outer + inner - 1;
  order_.vector_level = columns_ ? 1 : inner;
  for (int k = 0; k < outer; ++k) {
    const bool vector = k == order_.vector_loop;
    order_.names.push_back(vector ? "j" : absl::StrCat("o", k));
    order_.levels.push_back(vector ? 1 : 0);
  }
  for (int k = 0; k < inner; ++k) {
    const bool vector = outer + k == order_.vector_loop;
    order_.names.push_back(vector ? "j" : absl::StrCat("n", k));
    order_.levels.push_back(columns_ ? 2 + k : 1 + k);
  }
}

SymInt NestEmitter::scratch_bytes() const {
  SymInt elements = Product(nest_.inner);
  const int lanes = target_.lanes();
  if (columns_) elements = elements * lanes;
  SymInt bytes = 0;
  for (size_t r = 0; r < nest_.rows.size(); ++r) {
    bytes = bytes + (elements + lanes) * 8 + 64;
  }
  return bytes;
}

// Loop variables of the first `count` outer loops from the point number `from`,
// row-major.
void NestEmitter::EmitPoint(absl::string_view from, int count, std::string* out) {
  if (count == 0) return;
  absl::StrAppend(out, "long w = ", from, ";\n");
  for (int k = count - 1; k > 0; --k) {
    const std::string size = sizes_.Text(nest_.outer[k]);
    absl::StrAppend(out, "const long o", k, " = w % ", size, "; w /= ", size, ";\n");
  }
  absl::StrAppend(out, "const long o0 = w;\n");
}

std::string NestEmitter::FlatInner() const {
  std::string text = "0";
  for (size_t k = 0; k < nest_.inner.size(); ++k) {
    const std::string& name = order_.names[order_.num_outer + k];
    text =
        k == 0 ? name : absl::StrCat("(", text, ") * ", sizes_.Text(nest_.inner[k]), " + ", name);
  }
  return text;
}

// How many accumulators a reduction by rows has, to hide latency. Positions are compared lane by
// lane, which more of them would not make faster.
int NestEmitter::Copies(const Stage& stage) const {
  if (columns_ || stage.reductions.empty()) return 1;
  for (const Reduction& r : stage.reductions) {
    if (IsArg(r.op)) return 1;
  }
  return stage.body.size() <= kMaxUnrolledBody ? kUnroll : 1;
}

void NestEmitter::DeclareReductions(const Stage& stage, int first) {
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    const DType dtype = IsArg(r.op) ? DType::kI64 : r.dtype;
    const bool vector = columns_ && has_vectors();
    absl::StrAppend(&declared_, ValueType(dtype, vector), " r", first + i, ";\n");
    reduced_.push_back({columns_ ? 1 : 0, vector});
  }
}

// One vector of the body's values into the accumulators of copy `c`.
std::string NestEmitter::Accumulate(const Stage& stage) {
  std::string text;
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    const DType dtype = ValueDType(stage, r);
    const std::string acc = absl::StrCat("c", i, "[c]");
    // A value that is the same for all lanes counts once for each.
    std::string value = absl::StrCat("w_lanes<", ValueType(dtype, true), ">(x", r.value, ")");
    if (IsArg(r.op)) {
      // True is -1 and comes after false.
      if (dtype == DType::kBool) value = absl::StrCat("-", value);
      const std::string position = columns_
                                       ? absl::StrCat("w_splat((i64)(", FlatInner(), "))")
                                       : absl::StrCat("w_v_i64(w_iota()) + (", FlatInner(), ")");
      absl::StrAppend(&text, "w_arg<", r.op == ReduceOp::kArgMax ? "true" : "false", ">(&", acc,
                      ", &k", i, "[c], ", value, ", ", position, ", t);\n");
      continue;
    }
    const std::string picked =
        columns_ ? value
                 : absl::StrCat("w_pick(t, ", value, ", w_splat((", ValueType(dtype, false), ")",
                                Identity(r.op, dtype), "))");
    absl::StrAppend(&text, acc, " = ", Combine(r.op, acc, picked), ";\n");
  }
  return text;
}

// Where fetching is hidden best; null where rows are gone through once, which the
// processor foresees.
const Stage* NestEmitter::BusiestStage() const {
  if (columns_ || nest_.outer.empty() || nest_.inner.size() != 1) return nullptr;
  const Stage* busiest = nullptr;
  int most = 0;
  int loops = 0;
  for (const Stage& stage : nest_.stages) {
    if (stage.per_row) continue;
    ++loops;
    int work = 0;
    for (const Instr& instr : stage.body) work += IsMathFunction(instr.op) ? 16 : 1;
    if (work > most) busiest = &stage;
    most = std::max(most, work);
  }
  return loops > 1 ? busiest : nullptr;
}

// Each point of the last outer loop reads a row of its own.
bool NestEmitter::IsStreamed(const Access& access) const {
  const size_t outer = nest_.outer.size();
  return access.terms.empty() && access.guards.empty() && access.strides[outer].Is(1) &&
         !access.strides[outer - 1].Is(0);
}

// Asks for the next row at the place where this one is: a row often ends where a page
// does, behind which the processor does not look by itself.
std::string NestEmitter::FetchAhead() {
  std::string text;
  std::vector<const Access*> fetched;
  for (const Stage& stage : nest_.stages) {
    for (const Instr& instr : stage.body) {
      const Access& access = instr.access;
      if (instr.op != ScalarOp::kLoad || !IsStreamed(access)) continue;
      const bool known = std::any_of(fetched.begin(), fetched.end(), [&](const Access* other) {
        return other->arg == access.arg && other->offset == access.offset &&
               other->strides == access.strides;
      });
      if (known || fetched.size() == kMaxFetched) continue;
      fetched.push_back(&access);
      const int64_t bytes = DTypeBits(kernel_.args[access.arg].dtype) / 8;
      absl::StrAppend(&text, "__builtin_prefetch(a", access.arg, " + ",
                      LinearText(access.offset, access.strides, order_, "", &sizes_), " + (",
                      sizes_.Text(nest_.inner[0]), " <= ", kMaxFetchedBytes / bytes, "L ? ",
                      sizes_.Text(access.strides[nest_.outer.size() - 1]), " : 0L));\n");
    }
  }
  return text;
}

// Several arguments that are gone through at once: at the end of each page the processor
// loses all of them.
std::string NestEmitter::FetchStreams(const Stage& stage) {
  if (!columns_ || !has_vectors() || !nest_.inner.empty()) return "";
  std::string text;
  int streams = 0;
  for (const Instr& instr : stage.body) {
    const Access& access = instr.access;
    const bool stream = instr.op == ScalarOp::kLoad && access.terms.empty() &&
                        access.guards.empty() && access.strides[order_.vector_loop].Is(1);
    if (!stream || ++streams > static_cast<int>(kMaxFetched)) continue;
    const int64_t bytes = DTypeBits(kernel_.args[access.arg].dtype) / 8;
    absl::StrAppend(&text, "__builtin_prefetch(a", access.arg, " + ",
                    LinearText(access.offset, access.strides, order_, "", &sizes_), " + ",
                    kAheadBytes / bytes, "L);\n");
  }
  return streams >= kMinStreams ? text : "";
}

// Accumulators to results.
void NestEmitter::Finish(const Stage& stage, int first, std::string* out) {
  const int copies = Copies(stage);
  // Without loops all lanes are the one point.
  const char* lane = columns_ && !has_vectors() ? "[0]" : "";
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    const std::string acc = absl::StrCat("c", i);
    absl::StrAppend(out, "r", first + i, " = ");
    if (IsArg(r.op)) {
      if (columns_) {
        absl::StrAppend(out, "k", i, "[0]", lane, ";\n");
      } else {
        absl::StrAppend(out, "w_arg_all<", r.op == ReduceOp::kArgMax ? "true" : "false", ">(", acc,
                        "[0], k", i, "[0]);\n");
      }
      continue;
    }
    std::string all = absl::StrCat(acc, "[0]");
    for (int c = 1; c < copies; ++c) {
      all = Combine(r.op, all, absl::StrCat(acc, "[", c, "]"));
    }
    if (!columns_) all = absl::StrCat(AcrossLanes(r.op), "(", all, ")");
    absl::StrAppend(out, all, lane, ";\n");
  }
}

// Along the last inner loop.
std::string NestEmitter::VectorLoop(const Stage& stage, const std::string& body) {
  const int copies = Copies(stage);
  const std::string size = sizes_.Text(nest_.inner.back());
  std::string text =
      absl::StrCat("auto body = [&](long j, auto t, int c) __attribute__((always_inline)) {\n",
                   body, "};\nlong j = 0;\n");
  if (copies > 1) {
    absl::StrAppend(&text, "for (; j + ", copies, " * L <= ", size, "; j += ", copies, " * L) {");
    for (int c = 0; c < copies; ++c) {
      absl::StrAppend(&text, " body(j + ", c, " * L, w_full{}, ", c, ");");
    }
    absl::StrAppend(&text, " }\n");
  }
  absl::StrAppend(&text, "for (; j + L <= ", size, "; j += L) body(j, w_full{}, 0);\nif (j < ",
                  size, ") body(j, w_tail{(int)(", size, " - j)}, 0);\n");
  return text;
}

// The inner loops around the statements of their levels.
std::string NestEmitter::Loops(const Stage& stage, const StageCode& code) {
  const int base = columns_ ? 1 : 0;  // The level outside of the inner loops.
  const int inner = stage.per_row ? 0 : static_cast<int>(nest_.inner.size());
  std::string text = code.at_level.back() + Accumulate(stage);
  if (!nest_.rows.empty() && !stage.per_row) {
    text = absl::StrCat("const long q = ", columns_ ? "L * " : "", "(", FlatInner(), ");\n", text);
  }
  for (int k = inner - 1; k >= 0; --k) {
    if (!columns_ && k == inner - 1) {
      text = VectorLoop(stage, text);
    } else {
      text = absl::StrCat("for (long n", k, " = 0; n", k, " < ", sizes_.Text(nest_.inner[k]),
                          "; ++n", k, ") {\n", text, "}\n");
    }
    // Level base + k, unless it is the one that `text` started with.
    if (k > 0) text = code.at_level[base + k] + text;
  }
  return text;
}

absl::Status NestEmitter::EmitStage(const Stage& stage, std::string* block) {
  const int inner = stage.per_row ? 0 : static_cast<int>(nest_.inner.size());
  const int first = static_cast<int>(reduced_.size());
  StageCode code;
  code.at_level.resize((columns_ ? 2 : 1) + inner);
  WEFT_RETURN_IF_ERROR(EmitBody(kernel_, stage, order_, reduced_, &sizes_, &functions_, &code));
  absl::StrAppend(&code.at_level.back(),
                  &stage == BusiestStage() ? FetchAhead() : FetchStreams(stage));
  DeclareReductions(stage, first);
  absl::StrAppend(block, "{\n");
  const int base = columns_ ? 1 : 0;
  if (columns_) absl::StrAppend(block, code.at_level[0]);
  if (inner > 0) absl::StrAppend(block, code.at_level[base]);
  const int copies = Copies(stage);
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    const DType dtype = ValueDType(stage, r);
    absl::StrAppend(block, ValueType(dtype, true), " c", i, "[", copies, "]; for (auto& c : c", i,
                    ") c = w_splat((", ValueType(dtype, false), ")", Identity(r.op, dtype), ");\n");
    if (IsArg(r.op)) {
      absl::StrAppend(block, "v_i64 k", i, "[", copies, "]; for (auto& k : k", i,
                      ") k = w_splat((i64)-1);\n");
    }
  }
  if (columns_) absl::StrAppend(block, "constexpr int c = 0; (void)c;\n");
  absl::StrAppend(block, Loops(stage, code));
  Finish(stage, first, block);
  absl::StrAppend(block, "}\n");
  return absl::OkStatus();
}

absl::Status NestEmitter::EmitStages() {
  for (const Stage& stage : nest_.stages) {
    WEFT_RETURN_IF_ERROR(EmitStage(stage, &stages_));
  }
  return absl::OkStatus();
}

absl::Status NestEmitter::Emit(std::string* out) {
  ChooseOrder();
  WEFT_RETURN_IF_ERROR(EmitStages());
  SymInt row = 0;
  for (size_t r = 0; r < nest_.rows.size(); ++r) {
    const std::string type = ValueType(nest_.rows[r], false);
    absl::StrAppend(out, type, "* const row", r, " = (", type, "*)((char*)scratch + ",
                    sizes_.Text(row), ");\n");
    row = row + FloorDiv(scratch_bytes(), SymInt(static_cast<int64_t>(nest_.rows.size())));
  }
  const int outer = static_cast<int>(nest_.outer.size());
  if (!columns_ || outer == 0) {
    absl::StrAppend(out, "for (long p = from; p < to; ++p) {\n");
    EmitPoint("p", outer, out);
    if (columns_) absl::StrAppend(out, "constexpr w_full t{}; (void)t;\n");
    absl::StrAppend(out, declared_, stages_, "}\n");
    return absl::OkStatus();
  }
  const std::string size = sizes_.Text(nest_.outer.back());
  absl::StrAppend(out, "for (long p = from; p < to;) {\nconst long first = p % ", size, ";\n");
  if (outer > 1) EmitPoint(absl::StrCat("p / ", size), outer - 1, out);
  absl::StrAppend(out, "const long rest = ", size, " - first;\n",
                  "const long run = rest < to - p ? rest : to - p;\n",
                  "auto block = [&](long j, auto t) __attribute__((always_inline)) {\n", declared_,
                  stages_, "};\n", "long j = first; const long end = first + run;\n",
                  "for (; j + L <= end; j += L) block(j, w_full{});\n",
                  "if (j < end) block(j, w_tail{(int)(end - j)});\np += run;\n}\n");
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const CcTarget& target,
                      SizeTable* sizes, std::set<ScalarOp>* functions, NestCode* code) {
  NestEmitter emitter(kernel, nest, target, sizes, functions);
  WEFT_RETURN_IF_ERROR(emitter.Emit(&code->text));
  code->points = emitter.points();
  code->scratch_bytes = emitter.scratch_bytes();
  return absl::OkStatus();
}

}  // namespace weft::cpu::cc
