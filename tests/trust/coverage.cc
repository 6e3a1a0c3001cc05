#include "tests/trust/coverage.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/target.h"
#include "graph/ir/attrs.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "lowering/epilogues.h"

namespace weft::trust {
namespace {

constexpr const char* kLayouts[] = {"rows", "last", "strided"};
constexpr const char* kProductMasks[] = {"BMN", "BM1", "B1N", "B11", "bMN", "b1N",
                                         "bM1", "b11", "1MN", "1M1", "11N", "111"};
constexpr const char* kConvolutionMasks[] = {"NCS", "NCs", "NC1", "N1S", "N1s", "N11",
                                             "1CS", "1Cs", "1C1", "11S", "11s", "111"};

bool IsOne(SymInt d) { return d.is_constant() && d.value() == 1; }

bool IsConvolution(const OpDef& op) { return &op == &ops::convolution; }

std::string RoutineOf(const Step& step) {
  if (!IsConvolution(*step.op)) return std::string(step.op->name());
  const Attrs attrs(&step.op->schema(), step.attrs);
  const Type input = step.args[0].type;
  const SymInt groups = attrs.Sym("groups");
  const char* kind = "convolution";
  if (attrs.Bool("transposed")) {
    kind = "transposed";
  } else if (!IsOne(groups)) {
    kind = input.dim(1) == groups ? "depthwise" : "grouped";
  }
  return absl::StrCat(kind, input.rank() - 2, "d");
}

std::string LayoutOf(const View& view) {
  const Type type = view.type;
  if (!type.is_tensor() || !view.present()) return "rows";
  SymInt expected = 1;
  bool rows = true;
  for (int d = type.rank() - 1; d >= 0; --d) {
    if (!IsOne(type.dim(d)) && view.strides[d] != expected) rows = false;
    expected = expected * type.dim(d);
  }
  if (rows) return "rows";
  return type.rank() >= 3 && IsOne(view.strides[1]) ? "last" : "strided";
}

// 'F' all dims of [first, last) are the result's, 'p' some, '1' none; dims of size 1 in the
// result tell nothing.
char PartOf(Type operand, Type result, int first, int last) {
  bool some = false, all = true;
  const int lead = result.rank() - operand.rank();
  for (int d = first; d < last; ++d) {
    if (IsOne(result.dim(d))) continue;
    const bool full = d >= lead && !IsOne(operand.dim(d - lead));
    some |= full;
    all &= full;
  }
  return all ? 'F' : some ? 'p' : '1';
}

std::string MaskOf(Type operand, Type result, bool convolution) {
  const int rank = result.rank();
  const int cut1 = convolution ? 1 : std::max(0, rank - 2);
  const int cut2 = convolution ? 2 : std::max(0, rank - 1);
  const char* names = convolution ? "NCS" : "BMN";
  const int ends[] = {0, cut1, cut2, rank};
  std::string mask;
  for (int part = 0; part < 3; ++part) {
    const char kind = PartOf(operand, result, ends[part], ends[part + 1]);
    mask += kind == 'F' ? names[part] : kind == '1' ? '1' : static_cast<char>(names[part] + 32);
  }
  return mask;
}

bool IsConstant(const Plan& plan, const View& view) {
  return view.present() && plan.buffers[view.buffer].kind == BufferKind::kConstant;
}

Coverage::Cell CellOf(const Plan& plan, const Step& step) {
  Coverage::Cell cell;
  cell.routine = RoutineOf(step);
  cell.dtype = step.results[0].type.dtype();
  cell.epilogue = "none";
  cell.broadcast = "-";
  cell.layout = LayoutOf(step.args[0]);
  cell.constant = step.args.size() > 1 && IsConstant(plan, step.args[1]);
  return cell;
}

// The target's answer on a small node of this kind followed by the op.
class Claims {
 public:
  bool Get(const Coverage::Cell& cell) {
    if (cell.epilogue == "none" || cell.epilogue == "bias") return true;
    Module module(ops::Registry());
    Builder b(module.AddFunction("main"));
    Value* result = Routine(b, cell.routine, cell.dtype);
    const OpDef* op = ops::Registry().Find(cell.epilogue);
    std::vector<Value*> operands = {result};
    if (cell.broadcast != "-") {
      std::vector<int64_t> dims;
      for (SymInt size : result->type().dims()) dims.push_back(size.value());
      dims = cell.MaskedDims(std::move(dims));
      const std::vector<SymInt> masked(dims.begin(), dims.end());
      operands.push_back(b.graph()->AddInput(result->type().WithDims(masked)));
    }
    Value* stored = b.Op(*op, operands);
    if (!b.status().ok() || stored->node() == nullptr) return false;
    return AppliesEpilogue(cpu::CpuTarget(), *result->node(), *stored->node(), 0);
  }

 private:
  static Value* Routine(Builder& b, const std::string& name, DType dtype) {
    Graph& g = *b.graph();
    const auto input = [&](std::vector<SymInt> dims) {
      return g.AddInput(Type::Tensor(dtype, dims));
    };
    if (name == "matmul") return b.Op(ops::matmul, {input({2, 3, 4, 5}), input({2, 3, 5, 6})});
    if (name == "linear") return b.Op(ops::linear, {input({2, 3, 4, 5}), input({6, 5}), nullptr});
    const int spatial = name[name.size() - 2] - '0';
    std::vector<SymInt> x = {2, 4}, w = {4, 4};
    int64_t groups = 1;
    if (name[0] == 'd') groups = 4;
    if (name[0] == 'g') groups = 2;
    w[1] = 4 / groups;
    for (int d = 0; d < spatial; ++d) {
      x.push_back(5 + d);
      w.push_back(3);
    }
    const std::vector<int64_t> ones(spatial, 1), zeros(spatial, 0);
    return b.Op(ops::convolution, {input(x), input(w), nullptr},
                {{"stride", ones},
                 {"padding", ones},
                 {"dilation", ones},
                 {"transposed", name[0] == 't'},
                 {"output_padding", name[0] == 't' ? zeros : std::vector<int64_t>()},
                 {"groups", groups}});
  }
};

std::vector<std::string> Routines() {
  std::vector<std::string> routines = {"matmul", "linear"};
  for (const char* kind : {"convolution", "grouped", "depthwise", "transposed"}) {
    for (int d = 1; d <= 3; ++d) routines.push_back(absl::StrCat(kind, d, "d"));
  }
  return routines;
}

std::vector<std::string> MasksOf(const Coverage::Cell& cell, bool with_operand) {
  if (!with_operand) return {"-"};
  if (cell.is_product()) return {std::begin(kProductMasks), std::end(kProductMasks)};
  std::vector<std::string> masks;
  for (const std::string mask : kConvolutionMasks) {
    // One spatial dim is there or not.
    if (mask.back() == 's' && cell.routine[cell.routine.size() - 2] == '1') continue;
    masks.push_back(mask);
  }
  return masks;
}

// Pointwise ops of one tensor and of two; a plan has hardtanh for a clamp.
struct EpilogueOp {
  std::string name;
  bool with_operand;
};

std::vector<EpilogueOp> EpilogueOps() {
  std::vector<EpilogueOp> found = {{"none", false}};
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->has(kPointwise)) continue;
    const size_t operands = op->schema().operands.size();
    if (operands == 1) found.push_back({std::string(op->name()), false});
    if (operands == 2) found.push_back({std::string(op->name()), true});
  }
  return found;
}

}  // namespace

void Coverage::Add(const Plan& plan) {
  for (const Step& step : plan.steps) {
    for (const auto& region : step.regions) Add(*region);
    if (step.kind != StepKind::kLibrary || step.args.empty() || !step.results[0].present()) {
      continue;
    }
    Cell cell = CellOf(plan, step);
    if (step.epilogue.empty()) ++cells_[cell];
    for (const Epilogue& e : step.epilogue) {
      cell.epilogue = e.kind == Epilogue::Kind::kBias ? "bias" : std::string(e.op->name());
      cell.broadcast =
          e.kind == Epilogue::Kind::kBinary
              ? MaskOf(step.args[e.arg].type, step.results[0].type, IsConvolution(*step.op))
              : "-";
      ++cells_[cell];
    }
  }
}

std::vector<int64_t> Coverage::Cell::MaskedDims(std::vector<int64_t> dims) const {
  const int rank = static_cast<int>(dims.size());
  int last_part = -1;
  for (int d = 0; d < rank; ++d) {
    const int part = is_product() ? std::max(0, d - (rank - 3)) : std::min(d, 2);
    const char kind = broadcast[part];
    const bool partly = kind >= 'a' && part == last_part;
    if (kind == '1' || partly) dims[d] = 1;
    last_part = part;
  }
  return dims;
}

void Coverage::Merge(const Coverage& other) {
  for (const auto& [cell, count] : other.cells_) cells_[cell] += count;
}

int64_t Coverage::count(const Cell& cell) const {
  auto it = cells_.find(cell);
  return it == cells_.end() ? 0 : it->second;
}

namespace {

// Calls fn(cell) for each layout and kind of weights; routines of rows have no channels-last.
template <typename Fn>
void ForEachKind(Coverage::Cell cell, Fn fn) {
  for (const char* layout : kLayouts) {
    if (std::string(layout) == "last" && cell.is_product()) continue;
    for (bool constant : {false, true}) {
      cell.layout = layout;
      cell.constant = constant;
      fn(cell);
    }
  }
}

template <typename Fn>
void ForEachRow(Fn fn) {
  const std::vector<EpilogueOp> ops = EpilogueOps();
  for (const std::string& routine : Routines()) {
    for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const EpilogueOp& op : ops) {
        Coverage::Cell cell;
        cell.routine = routine;
        cell.dtype = dtype;
        cell.epilogue = op.name;
        fn(cell, MasksOf(cell, op.with_operand));
      }
    }
  }
}

}  // namespace

std::string Coverage::Table() const {
  Claims claims;
  std::string table;
  ForEachRow([&](Cell cell, const std::vector<std::string>& masks) {
    std::string row;
    bool any = false;
    for (const std::string& mask : masks) {
      cell.broadcast = mask;
      int reached = 0, all = 0;
      ForEachKind(cell, [&](const Cell& one) {
        ++all;
        reached += count(one) > 0;
      });
      const bool claimed = claims.Get(cell);
      any |= claimed || reached > 0;
      absl::StrAppend(&row, "  ", mask, " ",
                      claimed || reached > 0 ? absl::StrCat(reached, "/", all) : ".");
    }
    if (any) {
      absl::StrAppend(&table, cell.routine, " ", DTypeName(cell.dtype), " ", cell.epilogue, row,
                      "\n");
    }
  });
  return table;
}

std::string Coverage::Unreached() const {
  std::string list;
  for (const Cell& cell : ClaimedCells()) {
    if (count(cell) > 0) continue;
    absl::StrAppend(&list, cell.routine, " ", DTypeName(cell.dtype), " ", cell.epilogue, " ",
                    cell.broadcast, " ", cell.layout, cell.constant ? " constant" : " run-time",
                    "\n");
  }
  return list;
}

const std::vector<Coverage::Cell>& ClaimedCells() {
  static const auto& cells = *[] {
    auto* found = new std::vector<Coverage::Cell>;
    Claims claims;
    ForEachRow([&](Coverage::Cell cell, const std::vector<std::string>& masks) {
      for (const std::string& mask : masks) {
        cell.broadcast = mask;
        if (!claims.Get(cell)) continue;
        ForEachKind(cell, [&](const Coverage::Cell& one) { found->push_back(one); });
      }
    });
    return found;
  }();
  return cells;
}

}  // namespace weft::trust
