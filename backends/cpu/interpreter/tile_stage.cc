#include "backends/cpu/interpreter/tile_stage.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// Compiles one stage. Values are the instructions of the body, then temporaries.
class StageCompiler {
 public:
  StageCompiler(const StageContext& context, const Stage& stage, TileStage* out,
                StageValues* values)
      : kernel_(context.kernel),
        stage_(stage),
        loops_(context.loops),
        table_(context.table),
        value_of_(context.value_of),
        constants_(context.constants),
        nest_(context.nest),
        rows_(context.from.rows),
        out_(out),
        dtypes_(values->dtypes),
        uniform_(values->uniform) {
    scalar_ = loops_.lane < 0 || (!loops_.columns && stage.per_row);
  }

  absl::Status Run() {
    for (const Instr& instr : stage_.body) dtypes_.push_back(instr.dtype);
    uniform_.assign(dtypes_.size(), true);
    out_->values.resize(dtypes_.size());
    wide_.assign(dtypes_.size(), -1);
    FindDirect();
    size_t next = 0;
    for (size_t i = 0; i < stage_.body.size(); ++i) {
      const Instr& instr = stage_.body[i];
      const int address = instr.op == ScalarOp::kLoad ? static_cast<int>(next++) : -1;
      WEFT_RETURN_IF_ERROR(Emit(static_cast<int>(i), address));
    }
    // Ops that write are last, because they may write memory that a load reads in place.
    for (size_t r = 0; r < stage_.reductions.size(); ++r) EmitReduction(r);
    for (const Keep& keep : stage_.keeps) EmitKeep(keep);
    for (size_t i = 0; i < stage_.stores.size(); ++i) {
      WEFT_RETURN_IF_ERROR(EmitStore(i, static_cast<int>(next + i)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Emit(int i, int address) {
    const Instr& instr = stage_.body[i];
    switch (instr.op) {
      case ScalarOp::kConst:
      case ScalarOp::kSize:
        return EmitConstant(i);
      case ScalarOp::kIndex:
        return EmitIndex(i);
      case ScalarOp::kLoad:
        return EmitLoad(i, address);
      case ScalarOp::kRow: {
        uniform_[i] = scalar_;
        TileOp op;
        op.kind = TileOp::Kind::kRow;
        op.dst = i;
        op.loop = instr.loop;
        out_->ops.push_back(op);
        return absl::OkStatus();
      }
      case ScalarOp::kReduced: {
        const TileReduction& r = nest_.reductions[instr.loop];
        uniform_[i] = !loops_.columns;
        out_->values[i].place = TileValue::Place::kWorkspace;
        out_->values[i].offset = !loops_.columns ? r.result : r.arg ? r.at : r.acc;
        return absl::OkStatus();
      }
      default:
        return EmitCompute(i);
    }
  }

  absl::Status EmitConstant(int i) {
    const Instr& instr = stage_.body[i];
    double number = instr.imm;
    int64_t whole = instr.int_imm;
    if (instr.op == ScalarOp::kSize) {
      WEFT_ASSIGN_OR_RETURN(whole, SizeOf(instr.size, value_of_));
      number = static_cast<double>(whole);
    }
    // Without the table, which a program of listed kernels has no conversions from f64 in.
    int64_t element = 0;
    if (instr.dtype == DType::kF32) {
      const auto narrow = static_cast<float>(number);
      std::memcpy(&element, &narrow, sizeof narrow);
    } else if (instr.dtype == DType::kF64) {
      std::memcpy(&element, &number, sizeof number);
    } else if (IsFloat(instr.dtype)) {
      return Refuse("a constant", instr.dtype);
    } else {
      element = instr.dtype == DType::kBool ? static_cast<int64_t>(whole != 0) : whole;
    }
    SetConstant(i, &element, 1);
    return absl::OkStatus();
  }

  void SetConstant(int value, const void* element, int64_t n) {
    out_->values[value].place = TileValue::Place::kConstant;
    out_->values[value].offset = constants_.Add(dtypes_[value], element, n);
  }

  absl::Status EmitIndex(int i) {
    const int place = loops_.place[stage_.body[i].loop];
    TileOp op;
    op.kind = TileOp::Kind::kIndex;
    op.dst = i;
    op.loop = place;
    op.iota = table_.iota(dtypes_[i]);
    uniform_[i] = scalar_ || place != loops_.lane;
    return Push(op, i);
  }

  // True if the guard depends on the lane.
  bool Varies(const TileGuard& guard) const { return !scalar_ && guard.strides[loops_.lane] != 0; }

  // Completes an address: splits its terms into uniform and varying ones, and sets functions and
  // lane stride.
  absl::Status FinishAddress(TileAddress& address) {
    address.lane_stride = scalar_ ? 0 : address.strides[loops_.lane];
    for (TileTerm& term : address.terms) {
      term.fn = table_.term(dtypes_[term.value]);
      if (term.fn == nullptr) return Refuse("an index", dtypes_[term.value]);
      term.bytes = TileBytes(dtypes_[term.value]);
      term.uniform = uniform_[term.value];
      address.varying_terms |= !term.uniform;
    }
    return absl::OkStatus();
  }

  absl::Status EmitLoad(int i, int at) {
    const Instr& instr = stage_.body[i];
    TileAddress& address = out_->addresses[at];
    const DType memory = kernel_.args[address.arg].dtype;
    if (ComputeDType(memory) != instr.dtype) return Refuse("a load", memory);
    WEFT_RETURN_IF_ERROR(FinishAddress(address));
    TileOp op;
    op.kind = TileOp::Kind::kLoad;
    op.dst = i;
    op.address = at;
    bool uniform = address.lane_stride == 0 && !address.varying_terms;
    for (const TileGuard& guard : address.guards) uniform = uniform && !Varies(guard);
    if (!address.guards.empty()) {
      op.a = instr.access.otherwise;
      if (op.a < 0) return absl::InvalidArgumentError("a guarded load has no other value");
      uniform = uniform && uniform_[op.a];
      op.broadcast = table_.broadcast(instr.dtype);
      if (!uniform) op.a = Wide(op.a);
    }
    uniform_[i] = uniform;
    const bool in_place =
        memory == instr.dtype && (uniform || address.lane_stride == 1) && !address.varying_terms;
    // With several stores, one may write memory that another is about to read.
    const bool stored = stage_.stores.size() > 1 &&
                        std::any_of(stage_.stores.begin(), stage_.stores.end(),
                                    [i](const Store& store) { return store.value == i; });
    op.move = in_place && !stored && address.guards.empty() ? nullptr : table_.load(memory);
    op.gather = table_.gather(memory);
    op.tile_bytes = TileBytes(memory);
    return Push(op, i);
  }

  absl::Status EmitCompute(int i) {
    const Instr& instr = stage_.body[i];
    TileOp op;
    op.dst = i;
    int operands[3] = {instr.operands[0], instr.operands[1], instr.operands[2]};
    bool uniform = true;
    for (int k = 0; k < 3; ++k) {
      if (operands[k] < 0) continue;
      uniform = uniform && uniform_[operands[k]];
    }
    uniform_[i] = uniform;
    unsigned mask = 0;
    for (int k = 0; k < 3 && !uniform; ++k) {
      if (operands[k] >= 0 && uniform_[operands[k]]) mask |= 1u << k;
    }
    op.fn = Find(instr, mask);
    if (op.fn == nullptr && mask != 0) {
      for (int k = 0; k < 3; ++k) {
        if (mask & (1u << k)) operands[k] = Wide(operands[k]);
      }
      op.fn = Find(instr, 0);
    }
    if (op.fn == nullptr) return Refuse("an instruction", instr.dtype);
    op.a = std::max(operands[0], 0);
    op.b = operands[1] < 0 ? op.a : operands[1];
    op.c = operands[2] < 0 ? op.a : operands[2];
    if (!uniform) EmitDirect(i);
    return Push(op, i);
  }

  TileFn Find(const Instr& instr, unsigned mask) const {
    const DType from = dtypes_[instr.operands[0]];
    switch (instr.op) {
      case ScalarOp::kConvert:
        return table_.convert(instr.dtype, from);
      case ScalarOp::kRound:
        return table_.round(instr.dtype, instr.via);
      case ScalarOp::kBitcast: {
        // A copy of elements of that size.
        constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
        const int bits = DTypeBits(instr.dtype);
        const DType as = kUnsigned[bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
        return bits == DTypeBits(from) ? table_.convert(as, as) : nullptr;
      }
      case ScalarOp::kSelect:
        return table_.compute(instr.op, instr.dtype, instr.dtype, mask);
      default:
        return table_.compute(instr.op, instr.dtype, from, mask);
    }
  }

  // Adds a temporary.
  int NewValue(DType dtype, bool uniform) {
    dtypes_.push_back(dtype);
    uniform_.push_back(uniform);
    wide_.push_back(-1);
    out_->values.emplace_back();
    return static_cast<int>(dtypes_.size()) - 1;
  }

  // The value broadcast to all lanes; itself if it varies or there is one lane.
  int Wide(int value) {
    if (!uniform_[value] || scalar_) return value;
    if (wide_[value] >= 0) return wide_[value];
    const int wide = NewValue(dtypes_[value], false);
    wide_[value] = wide;
    if (out_->values[value].place == TileValue::Place::kConstant) {
      int64_t element;
      std::memcpy(&element, constants_.Data(out_->values[value].offset), sizeof element);
      SetConstant(wide, &element, nest_.tile);
      return wide;
    }
    TileOp op;
    op.dst = wide;
    op.a = op.b = op.c = value;
    op.fn = table_.broadcast(dtypes_[value]);
    out_->ops.push_back(op);
    return wide;
  }

  // Finds the values that can be computed directly into a store's memory or into a row.
  void FindDirect() {
    const int n = static_cast<int>(stage_.body.size());
    store_of_.assign(n, -1);
    row_of_.assign(n, -1);
    if (scalar_) return;
    std::vector<bool> read(nest_.rows.size());
    for (const Instr& instr : stage_.body) {
      if (instr.op == ScalarOp::kRow) read[instr.loop] = true;
    }
    for (const Keep& keep : stage_.keeps) {
      const bool same = rows_[keep.row] == stage_.body[keep.value].dtype;
      if (same && !read[keep.row]) row_of_[keep.value] = keep.row;
    }
    // The written memory may also be an argument that is read, so all loads must be done before the
    // value is computed.
    int last_load = -1;
    for (int i = 0; i < n; ++i) {
      if (stage_.body[i].op == ScalarOp::kLoad) last_load = i;
      for (int operand : stage_.body[i].operands) {
        if (operand >= 0 && stage_.body[operand].op == ScalarOp::kLoad) last_load = i;
      }
    }
    const auto use = [&](int value) {
      if (stage_.body[value].op == ScalarOp::kLoad) last_load = n;
    };
    for (const Store& store : stage_.stores) use(store.value);
    for (const Reduction& r : stage_.reductions) use(r.value);
    for (const Keep& keep : stage_.keeps) use(keep.value);
    const size_t loads = out_->addresses.size() - stage_.stores.size();
    for (size_t s = 0; s < stage_.stores.size(); ++s) {
      const int value = stage_.stores[s].value;
      const TileAddress& address = out_->addresses[loads + s];
      const bool plain = address.terms.empty() && address.guards.empty() &&
                         address.strides[loops_.lane] == 1 &&
                         kernel_.args[address.arg].dtype == stage_.body[value].dtype;
      if (plain && value >= last_load && row_of_[value] < 0) {
        store_of_[value] = static_cast<int>(s);
      }
    }
  }

  void EmitDirect(int i) {
    TileOp op;
    op.dst = i;
    if (store_of_[i] >= 0) {
      op.kind = TileOp::Kind::kStoreIn;
      op.address = static_cast<int>(out_->addresses.size() - stage_.stores.size()) + store_of_[i];
    } else if (row_of_[i] >= 0) {
      op.kind = TileOp::Kind::kKeepIn;
      op.loop = row_of_[i];
    } else {
      return;
    }
    direct_.push_back(i);
    out_->ops.push_back(op);
  }
  bool IsDirect(int value) const {
    return std::find(direct_.begin(), direct_.end(), value) != direct_.end();
  }

  absl::Status EmitStore(size_t s, int at) {
    const int value = stage_.stores[s].value;
    if (IsDirect(value) && store_of_[value] == static_cast<int>(s)) return absl::OkStatus();
    TileAddress& address = out_->addresses[at];
    WEFT_RETURN_IF_ERROR(FinishAddress(address));
    const DType memory = kernel_.args[address.arg].dtype;
    TileOp op;
    op.kind = TileOp::Kind::kStore;
    op.address = at;
    op.move = table_.store(memory);
    op.gather = table_.scatter(memory);
    op.tile_bytes = TileBytes(memory);
    if (op.move == nullptr) return Refuse("a store", memory);
    const int converted = Converted(value, ComputeDType(memory));
    op.uniform = scalar_;
    op.a = Wide(converted);
    out_->ops.push_back(op);
    return absl::OkStatus();
  }

  // The value converted to another dtype.
  int Converted(int value, DType dtype) {
    if (dtypes_[value] == dtype) return value;
    TileOp op;
    op.dst = NewValue(dtype, uniform_[value]);
    op.a = op.b = op.c = value;
    op.fn = table_.convert(dtype, dtypes_[value]);
    op.uniform = uniform_[value];
    out_->ops.push_back(op);
    return op.dst;
  }

  void EmitKeep(const Keep& keep) {
    if (IsDirect(keep.value) && row_of_[keep.value] == keep.row) return;
    TileOp op;
    op.kind = TileOp::Kind::kKeep;
    op.loop = keep.row;
    op.a = Wide(Converted(keep.value, rows_[keep.row]));
    op.move = table_.store(rows_[keep.row]);
    op.uniform = scalar_;
    out_->ops.push_back(op);
  }
  void EmitReduction(size_t r) {
    const int number = out_->first_reduction + static_cast<int>(r);
    const TileReduction& reduction = nest_.reductions[number];
    TileOp op;
    op.kind = TileOp::Kind::kReduce;
    op.loop = number;
    op.a = Wide(Converted(stage_.reductions[r].value, reduction.dtype));
    if (loops_.columns) {
      op.reduce = table_.reduce_column(reduction.op, reduction.dtype);
    } else if (reduction.arg) {
      op.reduce = table_.arg_row(reduction.op, reduction.dtype);
    } else {
      op.reduce_row = table_.reduce_row(reduction.op, reduction.dtype);
    }
    op.uniform = scalar_;
    out_->ops.push_back(op);
  }

  absl::Status Push(TileOp op, int value) {
    op.uniform = uniform_[value];
    out_->ops.push_back(op);
    return absl::OkStatus();
  }

  absl::Status Refuse(absl::string_view what, DType dtype) const {
    return absl::UnimplementedError(absl::StrCat("kernel @", kernel_.name, ": ", what, " of ",
                                                 DTypeName(dtype), " is not for kernels"));
  }

  const Kernel& kernel_;
  const Stage& stage_;
  const NestLoops& loops_;
  const TileTable& table_;
  SizeFn value_of_;
  ConstantPool& constants_;
  const TileNest& nest_;
  const std::vector<DType>& rows_;
  TileStage* out_;
  std::vector<DType>& dtypes_;  // By value.
  std::vector<bool>& uniform_;
  bool scalar_ = false;  // Tiles have one lane.
  std::vector<int> wide_;
  std::vector<int> store_of_;
  std::vector<int> row_of_;
  std::vector<int> direct_;
};

// The last op that uses each value.
std::vector<int> LastUses(const TileStage& stage) {
  std::vector<int> last(stage.values.size(), -1);
  for (size_t i = 0; i < stage.ops.size(); ++i) {
    const TileOp& op = stage.ops[i];
    for (int v : {op.dst, op.a, op.b, op.c}) {
      if (v >= 0) last[v] = static_cast<int>(i);
    }
    if (op.address < 0) continue;
    for (const TileTerm& term : stage.addresses[op.address].terms) {
      last[term.value] = static_cast<int>(i);
    }
  }
  return last;
}

}  // namespace

absl::Status CompileStage(const StageContext& context, const Stage& stage, TileStage* out,
                          StageValues* values) {
  return StageCompiler(context, stage, out, values).Run();
}

void PlaceValues(const StageValues& values, int64_t tile, TileStage& stage, SlotPool& pool) {
  const std::vector<int> last = LastUses(stage);
  std::vector<bool> direct(stage.values.size());
  std::vector<std::vector<int>> ends(stage.ops.size());
  const auto bytes = [&](int v) {
    const int64_t lanes = values.uniform[v] ? 1 : tile;
    return AlignTile(lanes * TileBytes(values.dtypes[v])) + (lanes > 1 ? kTileAlign : 0);
  };
  for (size_t i = 0; i < stage.ops.size(); ++i) {
    const TileOp& op = stage.ops[i];
    if (op.kind == TileOp::Kind::kStoreIn || op.kind == TileOp::Kind::kKeepIn) {
      direct[op.dst] = true;
      continue;
    }
    const bool in_place =
        op.kind == TileOp::Kind::kRow || (op.kind == TileOp::Kind::kLoad && op.move == nullptr);
    if (op.dst >= 0 && !in_place && !direct[op.dst] &&
        stage.values[op.dst].place == TileValue::Place::kNone) {
      stage.values[op.dst] = {TileValue::Place::kWorkspace, pool.Take(bytes(op.dst))};
      ends[last[op.dst]].push_back(op.dst);
    }
    for (int v : ends[i]) pool.Give(stage.values[v].offset, bytes(v));
  }
}

}  // namespace weft::cpu
