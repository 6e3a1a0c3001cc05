#include "backends/cpu/interpreter/byte_function.h"

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

// The kernel's results for all bytes in order. False if it cannot be interpreted.
bool Tabulate(Kernel kernel, const TileTable& table, ByteFunction* function) {
  kernel.nests[0].outer = {SymInt(kByteValues)};
  const auto program = CompileTiles(kernel, table, [](SymInt s) {
    return s.is_constant() ? std::optional<int64_t>(s.value()) : std::nullopt;
  });
  if (!program.ok()) return false;
  std::array<uint8_t, kByteValues> bytes;
  for (int i = 0; i < kByteValues; ++i) bytes[i] = static_cast<uint8_t>(i);
  std::vector<void*> args(kernel.args.size(), nullptr);
  args[function->from] = bytes.data();
  args[function->to] = function->table.data();
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> workspace(program->workspace_bytes / sizeof(Line) + 1);
  return RunTiles(*program, args.data(), workspace[0].bytes, /*threads=*/1).ok();
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
  if (!Tabulate(kernel, table, &function)) return std::nullopt;
  return function;
}

}  // namespace weft::cpu
