// Emits nests as loops according to their schedules (kernel_schedule.h): as rows or columns. A nest
// without loops is a column of one point.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/cpu/emit/internal.h"
#include "backends/cpu/emit/reductions.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::cpu::cc {
namespace {

using emit::LinearText;

class NestEmitter {
 public:
  NestEmitter(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule, int lanes,
              SizeTable* sizes, std::set<ScalarOp>* functions)
      : kernel_(kernel),
        nest_(nest),
        schedule_(schedule),
        lanes_(lanes),
        sizes_(*sizes),
        functions_(*functions) {}

  // Appends statements that run the points [from, to) of this nest.
  absl::Status Emit(std::string* out);
  SymInt points() const { return Product(nest_.outer); }
  SymInt scratch_bytes() const;

 private:
  bool has_vectors() const { return order_.vector_loop >= 0; }
  void OrderLoops();
  SymInt Extent(int loop) const {
    return loop < order_.num_outer ? nest_.outer[loop] : nest_.inner[loop - order_.num_outer];
  }
  // True if `vectors` vectors divide the lane loop: nothing is left for less than these.
  bool IsMultipleOf(int vectors) const {
    const SymInt extent = Extent(order_.vector_loop);
    return extent.is_constant() && extent.value() % (vectors * lanes_) == 0;
  }
  void EmitPoint(absl::string_view from, absl::Span<const int> loops, std::string* out);
  absl::Status EmitStages();
  absl::Status EmitStage(int number, std::string* block);
  ReductionShape ShapeOf(const Stage& stage, int copies) const;
  std::string Prefetch();
  std::string Loops(const Stage& stage, const StageCode& code, const ReductionEmitter& reductions,
                    int copies);
  std::string VectorLoop(const std::string& body, const ReductionEmitter& reductions, int copies);
  std::string FlatInner(absl::Span<const int> loops) const;
  std::string Position() const;

  const Kernel& kernel_;
  const Nest& nest_;
  const NestSchedule& schedule_;
  const int lanes_;
  SizeTable& sizes_;
  std::set<ScalarOp>& functions_;
  LoopOrder order_;
  bool columns_ = false;
  // The outer and the inner loops in the order of the code, outermost first.
  std::vector<int> outer_loops_;
  std::vector<int> inner_loops_;
  std::vector<Placement> reduced_;
  std::string declared_;  // Declarations of the results of reductions.
  std::string stages_;
};

// Makes the lane loop the innermost of the outer loops, or of the inner ones.
void NestEmitter::OrderLoops() {
  const int outer = static_cast<int>(nest_.outer.size());
  const int loops = outer + static_cast<int>(nest_.inner.size());
  const int lane = schedule_.lane_loop;
  columns_ = lane < outer;
  order_.num_outer = outer;
  order_.vector_loop = lane;
  for (int k = 0; k < loops; ++k) {
    if (k != lane) (k < outer ? outer_loops_ : inner_loops_).push_back(k);
  }
  if (lane >= 0) (columns_ ? outer_loops_ : inner_loops_).push_back(lane);
  order_.names.resize(loops);
  order_.levels.resize(loops);
  for (int k : outer_loops_) order_.names[k] = absl::StrCat("o", k);
  int level = columns_ ? 2 : 1;
  for (int k : inner_loops_) {
    order_.names[k] = absl::StrCat("n", k - outer);
    order_.levels[k] = level++;
  }
  order_.vector_level = columns_ ? 1 : loops - outer;
  if (lane < 0) return;
  order_.names[lane] = "j";
  if (columns_) order_.levels[lane] = 1;
}

SymInt NestEmitter::scratch_bytes() const {
  SymInt elements = Product(nest_.inner);
  if (columns_) elements = elements * lanes_;
  SymInt bytes = 0;
  for (size_t r = 0; r < nest_.rows.size(); ++r) {
    bytes = bytes + (elements + lanes_) * 8 + 64;
  }
  return bytes;
}

// Declares the loop variables of point number `from`; the last loop is counted fastest.
void NestEmitter::EmitPoint(absl::string_view from, absl::Span<const int> loops, std::string* out) {
  if (loops.empty()) return;
  absl::StrAppend(out, "long w = ", from, ";\n");
  for (size_t k = loops.size(); k-- > 1;) {
    const std::string size = sizes_.Text(Extent(loops[k]));
    absl::StrAppend(out, "const long ", order_.names[loops[k]], " = w % ", size, "; w /= ", size,
                    ";\n");
  }
  absl::StrAppend(out, "const long ", order_.names[loops[0]], " = w;\n");
}

// The number of the inner point; the last of these loops is counted fastest.
std::string NestEmitter::FlatInner(absl::Span<const int> loops) const {
  std::string text = "0";
  for (size_t k = 0; k < loops.size(); ++k) {
    const std::string& name = order_.names[loops[k]];
    text =
        k == 0 ? name : absl::StrCat("(", text, ") * ", sizes_.Text(Extent(loops[k])), " + ", name);
  }
  return text;
}

// The row-major number of the inner point.
std::string NestEmitter::Position() const {
  std::vector<int> loops = inner_loops_;
  std::sort(loops.begin(), loops.end());
  return FlatInner(loops);
}

ReductionShape NestEmitter::ShapeOf(const Stage& stage, int copies) const {
  ReductionShape shape;
  shape.columns = columns_;
  shape.has_lanes = has_vectors();
  shape.copies = copies;
  shape.block = schedule_.block;
  shape.block_values = columns_ ? Product(nest_.inner) : Extent(order_.vector_loop);
  if (std::any_of(stage.reductions.begin(), stage.reductions.end(), LooksForPosition)) {
    shape.position = Position();
  }
  return shape;
}

std::string NestEmitter::Prefetch() {
  std::string text;
  for (const ScheduledLoad& load : schedule_.prefetch) {
    const Access& access = nest_.stages[load.stage].body[load.instr].access;
    const int64_t bytes = DTypeBits(kernel_.args[access.arg].dtype) / 8;
    const std::string elements = absl::StrCat(schedule_.prefetch_bytes / bytes, "L");
    absl::StrAppend(&text, "__builtin_prefetch(a", access.arg, " + ",
                    LinearText(access.offset, access.strides, order_, "", &sizes_), " + ");
    if (columns_) {
      absl::StrAppend(&text, elements, ");\n");
    } else {
      absl::StrAppend(&text, "(", sizes_.Text(nest_.inner[0]), " <= ", elements, " ? ",
                      sizes_.Text(access.strides[nest_.outer.size() - 1]), " : 0L));\n");
    }
  }
  return text;
}

// Wraps the statements of one vector into the lane loop of rows.
std::string NestEmitter::VectorLoop(const std::string& body, const ReductionEmitter& reductions,
                                    int copies) {
  const std::string size = sizes_.Text(Extent(order_.vector_loop));
  std::string text =
      absl::StrCat("auto body = [&](long j, auto t, int c) __attribute__((always_inline)) {\n",
                   body, "};\nlong j = 0;\n");
  // The end of an iteration over `vectors` vectors.
  const std::string blocks = reductions.AddBlocks();
  const auto end = [&](int vectors) {
    if (blocks.empty()) return std::string(" }\n");
    return absl::StrCat(" if ((j + ", vectors, " * L) % ", schedule_.block, " == 0) {\n", blocks,
                        "} }\n");
  };
  if (copies > 1) {
    absl::StrAppend(&text, "for (; j + ", copies, " * L <= ", size, "; j += ", copies, " * L) {");
    for (int c = 0; c < copies; ++c) {
      absl::StrAppend(&text, " body(j + ", c, " * L, w_full{}, ", c, ");");
    }
    text += end(copies);
  }
  // The compiler does not see what cannot be left, and would take half as long again.
  if (copies == 1 || !IsMultipleOf(copies)) {
    absl::StrAppend(&text, "for (; j + L <= ", size, "; j += L) { body(j, w_full{}, 0);",
                    copies > 1 ? " }\n" : end(1));
  }
  if (!IsMultipleOf(1)) {
    absl::StrAppend(&text, "if (j < ", size, ") body(j, w_tail{(int)(", size, " - j)}, 0);\n");
  }
  return text;
}

// Wraps the statements of each level into the inner loops.
std::string NestEmitter::Loops(const Stage& stage, const StageCode& code,
                               const ReductionEmitter& reductions, int copies) {
  const int base = columns_ ? 1 : 0;  // Level outside of the inner loops.
  const int inner = stage.per_row ? 0 : static_cast<int>(inner_loops_.size());
  std::string text = code.at_level.back() + reductions.Accumulate();
  const std::string blocks = columns_ ? reductions.AddBlocks() : "";
  if (!blocks.empty()) {
    absl::StrAppend(&text, "if (++points % ", schedule_.block, " == 0) {\n", blocks, "}\n");
  }
  if (!nest_.rows.empty() && !stage.per_row) {
    text = absl::StrCat("const long q = ", columns_ ? "L * " : "", "(", FlatInner(inner_loops_),
                        ");\n", text);
  }
  for (int k = inner - 1; k >= 0; --k) {
    if (inner_loops_[k] == order_.vector_loop) {
      text = VectorLoop(text, reductions, copies);
    } else {
      const std::string& n = order_.names[inner_loops_[k]];
      text = absl::StrCat("for (long ", n, " = 0; ", n, " < ", sizes_.Text(Extent(inner_loops_[k])),
                          "; ++", n, ") {\n", text, "}\n");
    }
    // Adds level base + k, unless `text` began with it.
    if (k > 0) text = code.at_level[base + k] + text;
  }
  return text;
}

absl::Status NestEmitter::EmitStage(int number, std::string* block) {
  const Stage& stage = nest_.stages[number];
  const int copies = stage.reductions.empty() ? 1 : schedule_.unroll[number];
  const int inner = stage.per_row ? 0 : static_cast<int>(nest_.inner.size());
  StageCode code;
  code.at_level.resize((columns_ ? 2 : 1) + inner);
  WEFT_RETURN_IF_ERROR(EmitBody(kernel_, stage, order_, reduced_, &sizes_, &functions_, &code));
  if (number == schedule_.prefetch_stage) code.at_level.back() += Prefetch();
  const ReductionEmitter reductions(stage, static_cast<int>(reduced_.size()),
                                    ShapeOf(stage, copies));
  declared_ += reductions.Results();
  reduced_.resize(reduced_.size() + stage.reductions.size(),
                  {columns_ ? 1 : 0, columns_ && has_vectors()});
  absl::StrAppend(block, "{\n");
  const int base = columns_ ? 1 : 0;
  if (columns_) absl::StrAppend(block, code.at_level[0]);
  if (inner > 0) absl::StrAppend(block, code.at_level[base]);
  absl::StrAppend(block, reductions.Accumulators());
  if (columns_) {
    absl::StrAppend(block, "constexpr int c = 0; (void)c; long points = 0; (void)points;\n");
  }
  absl::StrAppend(block, Loops(stage, code, reductions, copies), reductions.Finish(), "}\n");
  return absl::OkStatus();
}

absl::Status NestEmitter::EmitStages() {
  for (size_t s = 0; s < nest_.stages.size(); ++s) {
    WEFT_RETURN_IF_ERROR(EmitStage(static_cast<int>(s), &stages_));
  }
  return absl::OkStatus();
}

absl::Status NestEmitter::Emit(std::string* out) {
  OrderLoops();
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
    EmitPoint("p", outer_loops_, out);
    if (columns_) absl::StrAppend(out, "constexpr w_full t{}; (void)t;\n");
    absl::StrAppend(out, declared_, stages_, "}\n");
    return absl::OkStatus();
  }
  const std::string size = sizes_.Text(Extent(order_.vector_loop));
  // Vectors that are whole throughout belong to the range in which they begin.
  const SymInt extent = Extent(order_.vector_loop);
  const bool whole = IsMultipleOf(1);
  const bool tails_alone = extent.is_constant() && extent.value() < lanes_ && !whole;
  absl::StrAppend(out, "for (long p = ", whole ? "(from + L - 1) / L * L" : "from",
                  "; p < to;) {\nconst long first = p % ", size, ";\n");
  EmitPoint(absl::StrCat("p / ", size), absl::MakeConstSpan(outer_loops_).first(outer - 1), out);
  absl::StrAppend(out, "const long rest = ", size, " - first;\n",
                  "const long run = rest < to - p ? rest : to - p;\n",
                  "auto block = [&](long j, auto t) __attribute__((always_inline)) {\n", declared_,
                  stages_, "};\n", "long j = first; const long end = first + run;\n",
                  tails_alone ? ""
                  : whole     ? "for (; j < end; j += L) block(j, w_full{});\n"
                              : "for (; j + L <= end; j += L) block(j, w_full{});\n",
                  whole ? "p += j - first;\n}\n"
                        : "if (j < end) block(j, w_tail{(int)(end - j)});\np += run;\n}\n");
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                      int lanes, SizeTable* sizes, std::set<ScalarOp>* functions, NestCode* code) {
  NestEmitter emitter(kernel, nest, schedule, lanes, sizes, functions);
  WEFT_RETURN_IF_ERROR(emitter.Emit(&code->text));
  code->points = emitter.points();
  code->scratch_bytes = emitter.scratch_bytes();
  return absl::OkStatus();
}

}  // namespace weft::cpu::cc
