#include "backends/cuda/routines/sort.h"

#include <algorithm>
#include <utility>

#include "backends/runtime/lines.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

// Adds the parameters that hold keys and numbers.
void AddKeys(const SortedKeys& sorted, PreparedLaunch* launch) {
  launch->AddScratch(sorted.keys_bytes, sorted.keys);
  launch->AddScratch(sorted.numbers_bytes, sorted.numbers);
}

SortedKeys Reserve(int64_t count, int64_t length, DType dtype, RoutineCode* code) {
  SortedKeys memory;
  memory.keys_bytes = count * SortKeyBytes(dtype);
  memory.numbers_bytes = count * static_cast<int64_t>(sizeof(int32_t));
  memory.keys = code->ReserveScratch(memory.keys_bytes);
  memory.numbers = code->ReserveScratch(memory.numbers_bytes);
  memory.length = length;
  return memory;
}

// The runs that the next launch makes of those of a line.
void Pair(SortSizes* sizes) {
  sizes->runs = (sizes->runs + 1) / 2;
  sizes->length = sizes->kept;
}
int64_t KeptOf(const SortSizes& sizes) { return std::min(2 * sizes.length, sizes.k); }

// The most keys of a line in any launch.
int64_t MostKeys(SortSizes sizes) {
  int64_t most = sizes.runs * sizes.length;
  while (sizes.runs > 1) {
    sizes.kept = KeptOf(sizes);
    Pair(&sizes);
    most = std::max(most, sizes.runs * sizes.length);
  }
  return most;
}

}  // namespace

absl::StatusOr<SortedKeys> AddSort(const RoutineContext& context, DType dtype, SortSizes sizes,
                                   absl::FunctionRef<void(PreparedLaunch*)> add_source,
                                   RoutineCode* code) {
  if (sizes.size >= kMaxElements) return absl::UnimplementedError("lines of 2^31 elements or more");
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(SortUnit(dtype)));
  const int multiprocessors = context.device.multiprocessors();
  sizes.width = 1;
  while (sizes.width < std::min(sizes.size, kSortTile)) sizes.width *= 2;
  sizes.runs = (sizes.size + kSortTile - 1) / kSortTile;
  sizes.length = std::min(kSortTile, sizes.k);
  const int64_t count = sizes.lines * MostKeys(sizes);
  SortedKeys from = Reserve(count, sizes.length, dtype, code);
  SortedKeys to = sizes.runs > 1 ? Reserve(count, sizes.length, dtype, code) : SortedKeys();
  const int64_t beside = kSortTile / sizes.width;
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_sort_tiles",
      GridOf((sizes.lines * sizes.runs + beside - 1) / beside, multiprocessors),
      [&](PreparedLaunch* launch) {
        add_source(launch);
        AddKeys(from, launch);
      },
      BytesOf(sizes)));
  while (sizes.runs > 1) {
    const int64_t pairs = (sizes.runs + 1) / 2;
    sizes.kept = KeptOf(sizes);
    WEFT_RETURN_IF_ERROR(code->AddKernel(
        module, "weft_sort_merge",
        GridOfElements(sizes.lines * pairs * 2 * sizes.length, multiprocessors),
        [&](PreparedLaunch* launch) {
          AddKeys(from, launch);
          AddKeys(to, launch);
        },
        BytesOf(sizes)));
    std::swap(from, to);
    Pair(&sizes);
  }
  from.length = sizes.length;
  return from;
}

absl::StatusOr<std::unique_ptr<StepCode>> MakeSort(const RoutineContext& context,
                                                   const StepRequest& request) {
  const RunView& x = request.args[0];
  const Attrs attrs(request.step.schema, request.attrs);
  const bool sorts = request.step.op_name == "sort";
  Lines lines;
  if (!FindLines(x, attrs.Int("dim"), &lines)) return absl::UnimplementedError("there is no dim");
  SortSizes sizes;
  sizes.size = lines.size;
  sizes.inner = lines.inner;
  sizes.lines = lines.count();
  sizes.k = sorts ? sizes.size : attrs.Sym("k").value();
  sizes.descending = attrs.Bool(sorts ? "descending" : "largest");
  sizes.has_values = request.results[0].present();
  sizes.has_positions = request.results[1].present();
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(SortUnit(x.dtype)));
  auto code = std::make_unique<RoutineCode>(context.device, request, "sort");
  if (sizes.lines * sizes.k == 0) return code;
  const auto add_source = [&](PreparedLaunch* launch) { AddOperand(request, 0, launch); };
  WEFT_ASSIGN_OR_RETURN(const SortedKeys sorted,
                        AddSort(context, x.dtype, sizes, add_source, code.get()));
  sizes.length = sorted.length;
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_sort_put",
      GridOfElements(sizes.lines * sizes.k, context.device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        const auto result = static_cast<int>(request.args.size());
        AddOperand(request, 0, launch);
        launch->AddScratch(sorted.numbers_bytes, sorted.numbers);
        AddOperand(request, result, launch);
        AddOperand(request, result + 1, launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
