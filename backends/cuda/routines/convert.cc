#include "backends/cuda/routines/convert.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/routines/float8_text.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

struct ConvertSizes {
  int64_t size = 0, saturate = 0;
};

constexpr char kKernel[] = R"(
struct w_convert_sizes { i64 size, saturate; };
W_KERNEL(256) weft_convert(W_IN(FROM) x, W_OUT(TO) y, const w_convert_sizes s) {
  for (i64 i = w_thread(); i < s.size; i += w_threads()) {
    const f32 v = w_load(x, i);
    STORE
  }
}
)";

bool IsWide(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

std::string ConvertUnit(DType from, DType to) {
  return absl::StrReplaceAll(
      absl::StrCat(Prelude(), Float8Text(), kKernel),
      {{"STORE", IsFloat8(to) ? absl::StrCat("w_put(y, i) = w_narrow8<", MemoryType(to),
                                             ">(v, s.saturate != 0);")
                              : "w_store(y, i, v);"},
       {"FROM", MemoryType(from)},
       {"W_OUT(TO)", absl::StrCat("W_OUT(", MemoryType(to), ")")}});
}

absl::StatusOr<std::unique_ptr<StepCode>> MakeConvert(const RoutineContext& context,
                                                      const StepRequest& request) {
  const RunView& x = request.args[0];
  const RunView& y = request.results[0];
  if (!(IsFloat8(x.dtype) && IsWide(y.dtype)) && !(IsWide(x.dtype) && IsFloat8(y.dtype))) {
    return absl::UnimplementedError("a conversion between other dtypes");
  }
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(ConvertUnit(x.dtype, y.dtype)));
  auto code = std::make_unique<RoutineCode>(context.device, request, "convert");
  ConvertSizes sizes;
  sizes.size = y.numel();
  sizes.saturate = Attrs(request.step.schema, request.attrs).Bool("saturate");
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_convert", GridOfElements(sizes.size, context.device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        AddOperand(request, 0, launch);
        AddOperand(request, 1, launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
