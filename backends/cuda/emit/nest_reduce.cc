// Reductions: accumulators of a thread, and parts of split reductions.
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cuda/emit/nest_emitter.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::cuda {
namespace {

// Values of a float sum that a thread adds before it moves the partial result to the second level.
constexpr int kSumBlock = 512;

std::string Identity(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kOr:
      return absl::StrCat("(", ValueType(dtype), ")0");
    case ReduceOp::kProduct:
      return absl::StrCat("(", ValueType(dtype), ")1");
    case ReduceOp::kAnd:
      return absl::StrCat("(", ValueType(dtype), ")-1");
    case ReduceOp::kMaximum:
    case ReduceOp::kArgMax:
      return LeastText(dtype);
    case ReduceOp::kMinimum:
    case ReduceOp::kArgMin:
      return MostText(dtype);
  }
  return "0";
}

// The function object of the prelude that combines two partial results.
const char* Combiner(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "w_add";
    case ReduceOp::kProduct:
      return "w_multiply";
    case ReduceOp::kMaximum:
      return "w_most";
    case ReduceOp::kMinimum:
      return "w_least";
    case ReduceOp::kAnd:
      return "w_all";
    default:
      return "w_any";
  }
}

std::string Combine(const Reduction& r) {
  if (!LooksForPosition(r)) return absl::StrCat(Combiner(r.op), "()");
  return absl::StrCat("w_first<", r.op == ReduceOp::kArgMax ? "true" : "false", ">()");
}

// The type of an accumulator.
std::string TypeOf(const Stage& stage, const Reduction& r) {
  if (!LooksForPosition(r)) return ValueType(r.dtype);
  return absl::StrCat("w_at<", ValueType(stage.body[r.value].dtype), ">");
}

// Float sums have two levels.
bool InBlocks(const Reduction& r) { return r.op == ReduceOp::kSum && IsFloat(r.dtype); }

// Parts of a row are stored one behind another, parts of neighbouring points as well: what threads
// next to each other read.
std::string PartPlace(bool rows, size_t reduction, absl::string_view part, absl::string_view points,
                      absl::string_view point) {
  return rows ? absl::StrCat("((", reduction, " * ", points, " + ", point, ") * splits + ", part,
                             ") * ", kPartBytes)
              : absl::StrCat("((", reduction, " * splits + ", part, ") * ", points, " + ", point,
                             ") * ", kPartBytes);
}

}  // namespace

bool LooksForPosition(const Reduction& r) {
  return r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
}

std::string NestEmitter::Accumulators(const Stage& stage) const {
  std::string declared;
  std::string set;
  bool blocks = false;
  const char* const all = groups_.reduced ? "[V]" : "";
  const auto declare = [&](const std::string& type, const char* name, size_t i,
                           const std::string& value) {
    absl::StrAppend(&declared, type, " ", name, i, all, ";\n");
    absl::StrAppend(&set, Own(name, i), " = ", value, ";\n");
  };
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    if (LooksForPosition(r)) {
      const DType value = stage.body[r.value].dtype;
      declare(TypeOf(stage, r), "c", i, absl::StrCat("{", Identity(r.op, value), ", -1}"));
      continue;
    }
    declare(ValueType(r.dtype), "c", i, Identity(r.op, r.dtype));
    if (InBlocks(r)) declare(ValueType(r.dtype), "s", i, "0");
    blocks = blocks || InBlocks(r);
  }
  if (groups_.reduced) set = Each(set);
  return absl::StrCat(declared, set, blocks ? "int added = 0;\n" : "");
}

std::string NestEmitter::Accumulate(const Stage& stage) const {
  std::string text;
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    const std::string c = Own("c", i);
    if (LooksForPosition(r)) {
      absl::StrAppend(&text, c, " = ", Combine(r), "(", c, ", ", TypeOf(stage, r), "{x", r.value,
                      ", ", RowMajor(), "});\n");
      continue;
    }
    absl::StrAppend(&text, c, " = ", Combine(r), "(", c, ", (", ValueType(r.dtype), ")x", r.value,
                    ");\n");
  }
  return text;
}

std::string NestEmitter::EndBlocks(const Stage& stage) const {
  std::string text;
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    if (!InBlocks(stage.reductions[i])) continue;
    absl::StrAppend(&text, Own("s", i), " += ", Own("c", i), "; ", Own("c", i), " = 0;\n");
  }
  if (text.empty()) return text;
  return absl::StrCat("if (++added == ", kSumBlock, ") {\nadded = 0;\n",
                      groups_.reduced ? Each(text) : text, "}\n");
}

// Sets the results of the stage's reductions, which are numbered from `first`.
std::string NestEmitter::Finish(const Stage& stage, int first) const {
  std::string text;
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    std::string value = Own("c", i);
    if (InBlocks(r)) absl::StrAppend(&value, " + ", Own("s", i));
    const bool position = LooksForPosition(r);
    if (rows_) value = absl::StrCat("w_block_reduce(", value, ", ", Combine(r), ")");
    absl::StrAppend(&text, Own("r", first + i), " = ", position ? "(" : "", value,
                    position ? ").at" : "", ";\n");
  }
  return groups_.reduced ? Each(text) : text;
}

// --- Split reductions --------------------------------------------------------------------

bool NestEmitter::CanSplit() const {
  if (nest_.stages.empty() || !nest_.rows.empty() || loops_ == outer_) return false;
  const Stage& first = nest_.stages[0];
  if (first.per_row || first.reductions.empty() || !first.stores.empty()) return false;
  for (size_t s = 1; s < nest_.stages.size(); ++s) {
    if (!nest_.stages[s].per_row) return false;
  }
  const SymInt points = Product(nest_.outer);
  const SymInt inner = Product(nest_.inner);
  if (!points.is_constant() || !inner.is_constant()) return true;
  const int64_t group = groups_.size;
  return rows_ ? CountSplits(NestKind::kRows, points.value(), inner.value()) > 1
               : CountSplits(NestKind::kPoints, points.value() / group, inner.value()) > 1;
}

std::string NestEmitter::StoreParts(const Stage& stage) const {
  std::string text;
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    std::string value = Own("c", i);
    if (InBlocks(r)) absl::StrAppend(&value, " + ", Own("s", i));
    const bool apart = groups_.reduced;
    const std::string place =
        PartPlace(rows_, i, "part", apart ? "(points * V)" : "points", apart ? "(p * V + j)" : "p");
    const std::string put =
        absl::StrCat("w_put(w_as<", TypeOf(stage, r), ">(parts, ", place, "), 0) = ");
    if (rows_) {
      absl::StrAppend(&text, "{\nconst auto y = w_block_reduce(", value, ", ", Combine(r),
                      ");\nif (threadIdx.x == 0) ", put, "y;\n}\n");
    } else {
      absl::StrAppend(&text, put, value, ";\n");
    }
  }
  return groups_.reduced ? Each(text) : text;
}

absl::Status NestEmitter::EmitParts(std::string* out) {
  const Stage& stage = nest_.stages[0];
  StageCode code;
  WEFT_RETURN_IF_ERROR(EmitBody(kernel_, stage, order_, groups_, {}, true, &sizes_, &code));
  const std::string count = InnerCount();
  absl::StrAppend(out, "const i64 size = (", count, " + splits - 1) / splits;\n");
  absl::StrAppend(
      out, rows_ ? "for (i64 t = range.block; t < points * splits; t += range.blocks) {\n"
                   "const i64 p = t / splits, part = t % splits;\n"
                 : "for (i64 t = w_thread(range); t < points * splits; t += w_threads(range)) {\n"
                   "const i64 p = t % points, part = t / points;\n");
  absl::StrAppend(out, "const i64 begin = part * size, end = begin + size < ", count,
                  " ? begin + size : ", count, ";\n");
  Decode("p", Order(0, outer_), out);
  absl::StrAppend(out, InnerLoop(stage, code, "begin", "end"), StoreParts(stage), "}\n");
  return absl::OkStatus();
}

std::string NestEmitter::CombineParts(const Stage& stage) const {
  std::string text =
      absl::StrCat(Accumulators(stage), "for (i64 part = ", rows_ ? "threadIdx.x" : "0",
                   "; part < splits; part += ", rows_ ? "blockDim.x" : "1", ") {\n");
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const Reduction& r = stage.reductions[i];
    absl::StrAppend(&text, "c", i, " = ", Combine(r), "(c", i, ", w_get(w_as<", TypeOf(stage, r),
                    ">(parts, ", PartPlace(rows_, i, "part", "points", "p"), "), 0));\n");
  }
  return text + "}\n";
}

absl::Status NestEmitter::EmitFinish(std::string* out) {
  const Stage& stage = nest_.stages[0];
  const int first = DeclareResults(stage);
  std::string stages = absl::StrCat("{\n", CombineParts(stage), Finish(stage, first), "}\n");
  for (size_t s = 1; s < nest_.stages.size(); ++s) {
    WEFT_RETURN_IF_ERROR(EmitStage(nest_.stages[s], &stages));
  }
  absl::StrAppend(out,
                  rows_ ? "for (i64 p = range.block; p < points; p += range.blocks) {\n"
                        : "for (i64 p = w_thread(range); p < points; p += w_threads(range)) {\n");
  Decode("p", Order(0, outer_), out);
  absl::StrAppend(out, declared_, stages, "}\n");
  return absl::OkStatus();
}

}  // namespace weft::cuda
