#include "backends/cuda/routines/scan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/cuda/routines/scan_unit.h"
#include "backends/runtime/lines.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

// A thread takes a whole line if lines are this short, or if there are this many lines whose
// elements lie side by side across them.
constexpr int64_t kShort = 32;
constexpr int64_t kManyLines = 4096;
// Blocks that keep a GPU busy, and the fewest elements of a part; a block takes 256 at a time.
constexpr int64_t kBlocks = 1024;
constexpr int64_t kLeastPart = 2048;

ScanKind KindOf(absl::string_view op) {
  if (op == "cumsum") return ScanKind::kSum;
  if (op == "cumprod") return ScanKind::kProduct;
  return op == "cummax" ? ScanKind::kMaximum : ScanKind::kMinimum;
}

void SetParts(ScanSizes* sizes) {
  const int64_t per_line = std::max<int64_t>(kBlocks / std::max<int64_t>(sizes->lines, 1), 1);
  const int64_t part = std::max((sizes->size + per_line - 1) / per_line, kLeastPart);
  sizes->part = (part + kRoutineThreads - 1) / kRoutineThreads * kRoutineThreads;
  sizes->parts = (sizes->size + sizes->part - 1) / sizes->part;
}

struct Making {
  const RoutineContext& context;
  const StepRequest& request;
  ScanKind kind;
  std::shared_ptr<const CudaModule> module;
};

void AddOperands(const StepRequest& request, PreparedLaunch* launch) {
  const auto result = static_cast<int>(request.args.size());
  AddOperand(request, 0, launch);
  AddOperand(request, result, launch);
  AddOperand(request, request.results.size() > 1 ? result + 1 : -1, launch);
}

absl::Status AddLines(const Making& making, const ScanSizes& sizes, RoutineCode* code) {
  const int multiprocessors = making.context.device.multiprocessors();
  return code->AddKernel(
      making.module, "weft_scan_lines", GridOfElements(sizes.lines, multiprocessors),
      [&](PreparedLaunch* launch) { AddOperands(making.request, launch); }, BytesOf(sizes));
}

absl::Status AddParts(const Making& making, const ScanSizes& sizes, RoutineCode* code) {
  const int64_t blocks = sizes.lines * sizes.parts;
  const int64_t bytes = blocks * ScanTotalBytes(making.kind);
  const int64_t totals = code->ReserveScratch(bytes);
  const LaunchShape shape = GridOf(blocks, making.context.device.multiprocessors());
  if (sizes.parts > 1) {
    WEFT_RETURN_IF_ERROR(code->AddKernel(
        making.module, "weft_scan_totals", shape,
        [&](PreparedLaunch* launch) {
          AddOperand(making.request, 0, launch);
          launch->AddScratch(bytes, totals);
        },
        BytesOf(sizes)));
  }
  return code->AddKernel(
      making.module, "weft_scan", shape,
      [&](PreparedLaunch* launch) {
        AddOperands(making.request, launch);
        launch->AddScratch(bytes, totals);
      },
      BytesOf(sizes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeScan(const RoutineContext& context,
                                                   const StepRequest& request) {
  const RunView& x = request.args[0];
  const Attrs attrs(request.step.schema, request.attrs);
  Lines lines;
  if (!FindLines(x, attrs.Int("dim"), &lines)) return absl::UnimplementedError("there is no dim");
  ScanSizes sizes;
  sizes.size = lines.size;
  sizes.inner = lines.inner;
  sizes.lines = lines.count();
  const bool extrema = request.results.size() > 1;
  sizes.has_values = request.results[0].present();
  sizes.has_positions = extrema && request.results[1].present();
  sizes.exclusive = !extrema && attrs.Bool("exclusive");
  sizes.reverse = !extrema && attrs.Bool("reverse");
  SetParts(&sizes);
  Making making = {context, request, KindOf(request.step.op_name), nullptr};
  WEFT_ASSIGN_OR_RETURN(making.module, context.units.Find(ScanUnit(making.kind, x.dtype)));
  auto code = std::make_unique<RoutineCode>(context.device, request, "scan");
  if (x.numel() == 0) return code;
  const bool by_lines = sizes.size <= kShort || (sizes.inner > 1 && sizes.lines >= kManyLines);
  WEFT_RETURN_IF_ERROR(by_lines ? AddLines(making, sizes, code.get())
                                : AddParts(making, sizes, code.get()));
  return code;
}

}  // namespace weft::cuda
