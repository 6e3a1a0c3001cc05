// Emits nests: a thread a point, or a block a row (emit_cuda.h).
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/emit/internal.h"
#include "backends/cuda/emit/nest_emitter.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::cuda {
namespace {

// Rows of at most this many elements are computed by one thread each.
constexpr int64_t kShortRow = 16;
// Most points of a group.
constexpr int kMaxGroup = 8;

int MemoryBytes(const Kernel& kernel, const Access& access) {
  return DTypeBits(kernel.args[access.arg].dtype) / 8;
}

std::vector<const Access*> AccessesOf(const Nest& nest) {
  std::vector<const Access*> accesses;
  for (const Stage& stage : nest.stages) {
    for (const Instr& instr : stage.body) {
      if (instr.op == ScalarOp::kLoad) accesses.push_back(&instr.access);
    }
    for (const Store& store : stage.stores) accesses.push_back(&store.access);
  }
  return accesses;
}

}  // namespace

NestEmitter::NestEmitter(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                         bool group, emit::SizeTable* sizes, CudaNest* result)
    : kernel_(kernel), nest_(nest), sizes_(*sizes), result_(*result) {
  outer_ = static_cast<int>(nest.outer.size());
  loops_ = outer_ + static_cast<int>(nest.inner.size());
  lane_ = schedule.lane_loop;
  const SymInt inner = Product(nest.inner);
  const bool shorter = inner.is_constant() && inner.value() <= kShortRow;
  rows_ = lane_ >= outer_ && !shorter;
  if (group) Group();
  order_.num_outer = outer_;
  for (int k = 0; k < loops_; ++k) {
    order_.names.push_back(absl::StrCat(k < outer_ ? "o" : "n", k));
    order_.levels.push_back(k < outer_ ? 0 : 1);
  }
  result_.kind = rows_ ? NestKind::kRows : NestKind::kPoints;
  result_.points = Product(nest_.outer);
  result_.inner = Product(nest_.inner);
  result_.rows = static_cast<int>(nest_.rows.size());
  for (const DType row : nest_.rows) {
    result_.row_slot = std::max(result_.row_slot, row == DType::kBool ? 1 : DTypeBits(row) / 8);
  }
}

// Accesses of the widest type that are joined have 16 bytes.
void NestEmitter::Group() {
  // A thread that computes a row alone, or keeps one, takes one point.
  if (lane_ < 0 || rows_ != (lane_ >= outer_) || (!rows_ && !nest_.rows.empty())) return;
  const std::vector<const Access*> accesses = AccessesOf(nest_);
  const Groups any = {1, lane_, "", false};
  int widest = 0;
  for (const Access* access : accesses) {
    if (IsJoined(*access, any)) widest = std::max(widest, MemoryBytes(kernel_, *access));
  }
  if (widest == 0) return;
  Groups groups = {std::min(16 / widest, kMaxGroup), lane_, "first", !rows_};
  const SymInt extent = Extent(lane_);
  if (extent.is_constant() && extent.value() % groups.size != 0) return;
  CudaGroups& made = result_.groups;
  const auto add = [](auto value, auto* list) {
    if (std::find(list->begin(), list->end(), value) == list->end()) list->push_back(value);
  };
  for (const Access* access : accesses) {
    if (!IsJoined(*access, groups)) continue;
    add(access->arg, &made.args);
    add(access->offset, &made.multiples);
    for (size_t k = 0; k < access->strides.size(); ++k) {
      if (static_cast<int>(k) != lane_) add(access->strides[k], &made.multiples);
    }
  }
  if (made.args.empty()) return;
  add(extent, &made.multiples);
  made.size = groups.size;
  groups_ = groups;
}

std::vector<int> NestEmitter::Order(int from, int to) const {
  std::vector<int> loops;
  for (int k = from; k < to; ++k) {
    if (k != lane_) loops.push_back(k);
  }
  if (lane_ >= from && lane_ < to) loops.push_back(lane_);
  return loops;
}

std::string NestEmitter::Each(absl::string_view statements) const {
  if (!grouped() || statements.empty()) return std::string(statements);
  return absl::StrCat("#pragma unroll\nfor (int j = 0; j < V; ++j) {\nconst i64 ",
                      order_.names[lane_], " = first + j;\n", statements, "}\n");
}

// Declares the loop variables of a point, or of the first point of a group; the last loop is
// counted fastest.
void NestEmitter::Decode(const char* number, const std::vector<int>& loops, std::string* out) {
  if (loops.empty()) return;
  std::string rest = number;
  if (loops.size() > 1) {
    absl::StrAppend(out, "i64 w = ", number, ";\n");
    rest = "w";
  }
  for (size_t k = loops.size(); k-- > 0;) {
    const bool first = grouped() && loops[k] == lane_;
    const std::string name = first ? groups_.first : order_.names[loops[k]];
    const char* each = first ? " * V" : "";
    if (k == 0) {
      absl::StrAppend(out, "const i64 ", name, " = ", rest, each, ";\n");
      break;
    }
    std::string size = sizes_.Text(Extent(loops[k]));
    if (first) size = absl::StrCat("(", size, " / V)");
    absl::StrAppend(out, "const i64 ", name, " = w % ", size, each, "; w /= ", size, ";\n");
  }
}

// The row-major number of the inner point.
std::string NestEmitter::RowMajor() const {
  std::string text = "0";
  for (int k = outer_; k < loops_; ++k) {
    text = k == outer_
               ? order_.names[k]
               : absl::StrCat("(", text, ") * ", sizes_.Text(Extent(k)), " + ", order_.names[k]);
  }
  return text;
}

// Places of the inner point's elements in the rows.
std::string NestEmitter::RowPlaces() {
  std::string text;
  for (size_t r = 0; r < nest_.rows.size(); ++r) {
    const std::string slot = sizes_.Text(Product(nest_.inner) * static_cast<int64_t>(r));
    absl::StrAppend(&text, "const i64 row", r, " = ");
    if (!rows_) {
      absl::StrAppend(&text, "w_apart(", slot, " + q, range);\n");
    } else if (!grouped()) {
      absl::StrAppend(&text, slot, " + q;\n");
    } else {
      // Neighbouring threads use neighbouring banks.
      absl::StrAppend(&text, slot, " + j * (", sizes_.Text(Product(nest_.inner)), " / V) + q;\n");
    }
  }
  return text;
}

std::string NestEmitter::InnerCount() {
  // Points of a thread are neighbours along an outer loop.
  return absl::StrCat(sizes_.Text(Product(nest_.inner)), grouped() && rows_ ? " / V" : "");
}

std::string NestEmitter::InnerLoop(const Stage& stage, const StageCode& code,
                                   absl::string_view begin, absl::string_view end) {
  // Values of a point of a group are computed where its variable exists.
  const bool apart = groups_.reduced;
  std::string text = absl::StrCat(apart ? "" : code.outside, Accumulators(stage),
                                  "for (i64 q = ", begin, rows_ ? " + threadIdx.x" : "", "; q < ",
                                  end, "; q += ", rows_ ? "blockDim.x" : "1", ") {\n");
  Decode("q", Order(outer_, loops_), &text);
  absl::StrAppend(&text, code.before,
                  Each(absl::StrCat(RowPlaces(), apart ? code.outside : "", code.inside,
                                    Accumulate(stage), apart ? "" : EndBlocks(stage))),
                  code.after, apart ? EndBlocks(stage) : "", "}\n");
  return text;
}

int NestEmitter::DeclareResults(const Stage& stage) {
  const int first = static_cast<int>(reduced_.size());
  for (const Reduction& r : stage.reductions) {
    absl::StrAppend(&declared_, ValueType(LooksForPosition(r) ? DType::kI64 : r.dtype), " r",
                    reduced_.size(), groups_.reduced ? "[V]" : "", ";\n");
    reduced_.push_back({0, false});
  }
  return first;
}

absl::Status NestEmitter::EmitStage(const Stage& stage, std::string* out) {
  // Without inner loops a reduction has one element.
  const bool inner = !stage.per_row && (loops_ > outer_ || !stage.reductions.empty());
  StageCode code;
  WEFT_RETURN_IF_ERROR(EmitBody(kernel_, stage, order_, groups_, reduced_, inner, &sizes_, &code));
  result_.checks = result_.checks || code.checks;
  const int first = DeclareResults(stage);
  if (inner) {
    absl::StrAppend(out, "{\n", InnerLoop(stage, code, "0", InnerCount()), Finish(stage, first),
                    "}\n");
  } else if (!rows_) {
    absl::StrAppend(out, "{\n", code.before, Each(absl::StrCat(code.outside, code.inside)),
                    code.after, "}\n");
  } else {
    // One thread stores the results of a row.
    const bool stores = !code.inside.empty();
    absl::StrAppend(out, "{\n", code.outside, stores ? "if (threadIdx.x == 0) {\n" : "",
                    code.inside, stores ? "}\n" : "", "}\n");
  }
  return absl::OkStatus();
}

absl::Status NestEmitter::Emit(std::string* out) {
  std::string stages;
  for (const Stage& stage : nest_.stages) WEFT_RETURN_IF_ERROR(EmitStage(stage, &stages));
  if (result_.rows > 0) {
    absl::StrAppend(out, "constexpr int row_slot = ", result_.row_slot, ";\n");
    if (rows_) {
      const std::string bytes =
          sizes_.Text(result_.inner * static_cast<int64_t>(result_.rows * result_.row_slot));
      absl::StrAppend(out, "const auto rows = w_rows(kept, kept_shared != 0, range.block * (i64)",
                      bytes, ");\n");
    } else {
      absl::StrAppend(out, "const auto rows = w_rows(kept, false, 0);\n");
    }
  }
  absl::StrAppend(out,
                  rows_ ? "for (i64 p = range.block; p < points; p += range.blocks) {\n"
                        : "for (i64 p = w_thread(range); p < points; p += w_threads(range)) {\n");
  Decode("p", Order(0, outer_), out);
  absl::StrAppend(out, declared_, stages, "}\n");
  return absl::OkStatus();
}

absl::Status EmitNest(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                      emit::SizeTable* sizes, NestText* text, CudaNest* result) {
  const auto emitter = [&](bool group) {
    return NestEmitter(kernel, nest, schedule, group, sizes, result);
  };
  NestEmitter whole = emitter(true);
  WEFT_RETURN_IF_ERROR(whole.Emit(&text->whole));
  if (!whole.CanSplit()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(emitter(true).EmitParts(&text->parts));
  return emitter(false).EmitFinish(&text->finish);
}

}  // namespace weft::cuda
