#include "backends/cuda/routines/finish_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kSizes[] = R"(
struct w_finish_sizes {
  i64 points, rank, dims[8], sum[8], result[8];
  struct { i64 step, strides[8]; } operands[W_OPERANDS + 1];
};
W_FN i64 w_quotient(i64 a, i64 b, bool narrow) { return narrow ? (i64)((u32)a / (u32)b) : a / b; }
)";

constexpr char kKernel[] = R"(
W_KERNEL(256) NAME(W_IN(TYPE) sum, W_OUT(TYPE) result W_OPERAND_PARAMETERS, const w_finish_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const bool narrow = s.points <= 0x7fffffff;
  for (i64 p = w_thread(); p < s.points; p += w_threads()) {
    i64 rest = p, from = 0, to = 0, at[W_OPERANDS + 1] = {};
    for (i64 d = s.rank; d-- > 0;) {
      const i64 next = d > 0 ? w_quotient(rest, s.dims[d], narrow) : 0;
      const i64 i = rest - next * s.dims[d];
      from += i * s.sum[d];
      to += i * s.result[d];
      for (int o = 0; o < W_OPERANDS; ++o) at[o] += i * s.operands[o].strides[d];
      rest = next;
    }
    auto group = w_get_group<GROUP>(sum, from);
    for (int j = 0; j < GROUP; ++j) {
      w_set(&group.v[j], w_finish(w_value(group.v[j]), operands, at));
      for (int o = 0; o < W_OPERANDS; ++o) at[o] += s.operands[o].step;
    }
    w_put_group<GROUP>(result, to, group);
  }
}
)";

}  // namespace

int64_t FinishGroup(DType dtype) { return 128 / DTypeBits(dtype); }

std::string FinishUnit(DType dtype, const std::string& epilogue) {
  std::string text = absl::StrCat(Prelude(), epilogue, kSizes);
  const std::string group = absl::StrCat(FinishGroup(dtype));
  for (const auto& [name, elements] :
       {std::pair{"weft_finish1", std::string("1")}, std::pair{"weft_finish", group}}) {
    absl::StrAppend(
        &text, absl::StrReplaceAll(
                   kKernel, {{"NAME", name}, {"TYPE", MemoryType(dtype)}, {"GROUP", elements}}));
  }
  return text;
}

}  // namespace weft::cuda
