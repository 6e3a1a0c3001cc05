#include "backends/cpu/interpreter/byte_function.h"

#include <utility>
#include <vector>

#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "lowering/kernel_cost.h"

namespace weft::cpu {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// The elements of the argument in order.
bool IsWhole(const Access& access) {
  return access.offset.Is(0) && access.strides.size() == 1 && access.strides[0].Is(1) &&
         access.terms.empty() && access.guards.empty();
}

// The one load of a body that computes nothing else from its point; -1: it does.
int OnlyLoad(const std::vector<Instr>& body) {
  int load = -1;
  for (int i = 0; i < static_cast<int>(body.size()); ++i) {
    const ScalarOp op = body[i].op;
    if (op == ScalarOp::kSize || op == ScalarOp::kIndex || op == ScalarOp::kRow ||
        op == ScalarOp::kReduced) {
      return -1;
    }
    if (op != ScalarOp::kLoad) continue;
    if (load >= 0) return -1;
    load = i;
  }
  return load;
}

using ByteTable = std::array<uint8_t, kByteValues>;

// The results of a kernel of one loop for all bytes in order, which argument `from` holds.
std::optional<ByteTable> Tabulate(const Kernel& kernel, int from, int to, const TileTable& table) {
  const auto program = CompileTiles(kernel, table, [](SymInt s) {
    return s.is_constant() ? std::optional<int64_t>(s.value()) : std::nullopt;
  });
  if (!program.ok()) return std::nullopt;
  ByteTable bytes;
  ByteTable results = {};
  for (int i = 0; i < kByteValues; ++i) bytes[i] = static_cast<uint8_t>(i);
  std::vector<void*> args(kernel.args.size(), nullptr);
  args[from] = bytes.data();
  args[to] = results.data();
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> workspace(program->workspace_bytes / sizeof(Line) + 1);
  if (!RunTiles(*program, args.data(), workspace[0].bytes, /*threads=*/1).ok()) return std::nullopt;
  return results;
}

// What the instructions of a finishing kernel's body depend on.
enum class Source { kNumbers, kElements, kMiddle };

// The place of the first conversion to 8 bits of what is computed from the routine's result; -1:
// there is none.
int FirstNarrowing(const std::vector<Instr>& body) {
  std::vector<bool> follows(body.size(), false);
  for (int i = 0; i < static_cast<int>(body.size()); ++i) {
    follows[i] = body[i].op == ScalarOp::kLoad && body[i].access.arg == 0;
    for (const int operand : body[i].operands) {
      follows[i] = follows[i] || (operand >= 0 && follows[operand]);
    }
    if (follows[i] && body[i].op == ScalarOp::kConvert && IsByte(body[i].dtype)) return i;
  }
  return -1;
}

// True if `value` is computed from instruction `middle` and numbers alone.
bool IsFunctionOf(const std::vector<Instr>& body, int middle, int value) {
  std::vector<Source> sources(body.size(), Source::kNumbers);
  for (int i = 0; i < static_cast<int>(body.size()); ++i) {
    const ScalarOp op = body[i].op;
    if (i == middle) {
      sources[i] = Source::kMiddle;
    } else if (op == ScalarOp::kLoad || op == ScalarOp::kSize || op == ScalarOp::kIndex) {
      sources[i] = Source::kElements;
    } else {
      for (const int operand : body[i].operands) {
        if (operand < 0 || sources[i] == Source::kElements) continue;
        if (sources[operand] != Source::kNumbers) sources[i] = sources[operand];
      }
    }
  }
  return sources[value] == Source::kMiddle;
}

// The part of a body behind instruction `middle` as a kernel of one loop over all bytes.
Kernel TailOf(const Kernel& kernel, int middle) {
  Kernel tail;
  Stage stage = kernel.nests[0].stages[0];
  const auto whole = [](int arg) {
    Access access;
    access.arg = arg;
    access.offset = SymInt(0);
    access.strides = {SymInt(1)};
    return access;
  };
  for (int i = 0; i < static_cast<int>(stage.body.size()); ++i) {
    // What it does not depend on becomes a number.
    if (i != middle && stage.body[i].op != ScalarOp::kLoad) continue;
    Instr instr;
    instr.dtype = stage.body[i].dtype;
    instr.op = i == middle ? ScalarOp::kLoad : ScalarOp::kConst;
    if (i == middle) instr.access = whole(0);
    stage.body[i] = instr;
  }
  stage.stores[0].access = whole(1);
  tail.args = {{stage.body[middle].dtype, false}, {kernel.args.back().dtype, true}};
  Nest nest;
  nest.outer = {SymInt(kByteValues)};
  nest.stages = {std::move(stage)};
  tail.nests = {std::move(nest)};
  NestSchedule schedule;
  schedule.lane_loop = 0;
  schedule.tile = kMaxTile;
  schedule.unroll = {1};
  tail.schedule.lanes = kernel.schedule.lanes;
  tail.schedule.nests = {schedule};
  return tail;
}

}  // namespace

std::optional<ByteFunction> FindByteFunction(const Kernel& kernel, const TileTable& table) {
  if (kernel.nests.size() != 1 || !kernel.schedule.decided()) return std::nullopt;
  const Nest& nest = kernel.nests[0];
  if (nest.outer.size() != 1 || !nest.inner.empty() || nest.stages.size() != 1) return std::nullopt;
  const Stage& stage = nest.stages[0];
  if (stage.stores.size() != 1 || !stage.reductions.empty() || !stage.keeps.empty()) {
    return std::nullopt;
  }
  bool is_costly = false;
  for (const Instr& instr : stage.body) {
    is_costly = is_costly || IsDivision(instr.op) || IsFunction(instr.op);
  }
  const int load = OnlyLoad(stage.body);
  if (!is_costly || load < 0) return std::nullopt;
  const Access& from = stage.body[load].access;
  const Access& to = stage.stores[0].access;
  if (!IsWhole(from) || !IsWhole(to) || !IsByte(kernel.args[from.arg].dtype) ||
      !IsByte(kernel.args[to.arg].dtype)) {
    return std::nullopt;
  }
  ByteFunction function;
  function.from = from.arg;
  function.to = to.arg;
  function.elements = nest.outer[0];
  Kernel all = kernel;
  all.nests[0].outer = {SymInt(kByteValues)};
  const auto results = Tabulate(all, function.from, function.to, table);
  if (!results) return std::nullopt;
  function.table = *results;
  return function;
}

std::optional<ByteTail> FindByteTail(const Kernel& kernel, const TileTable& table) {
  const Stage& stage = kernel.nests[0].stages[0];
  if (!kernel.schedule.decided() || !IsByte(kernel.args.back().dtype)) return std::nullopt;
  const int middle = FirstNarrowing(stage.body);
  const int value = stage.stores[0].value;
  if (middle < 0 || value == middle || !IsFunctionOf(stage.body, middle, value)) {
    return std::nullopt;
  }
  const auto results = Tabulate(TailOf(kernel, middle), 0, 1, table);
  if (!results) return std::nullopt;
  ByteTail tail;
  tail.table = *results;
  tail.middle = stage.body[middle].dtype;
  tail.head = kernel;
  tail.head.args.back().dtype = tail.middle;
  Stage& head = tail.head.nests[0].stages[0];
  head.body.resize(middle + 1);
  head.stores[0].value = middle;
  return tail;
}

}  // namespace weft::cpu
