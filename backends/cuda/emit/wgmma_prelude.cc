#include "backends/cuda/emit/wgmma_prelude.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace weft::cuda {
namespace {

// The emulation has its own versions of these.
//
// A matrix in shared memory has lines (rows of the left one, columns of the right one) and steps of
// k. It stands in rows of 128 bytes: a row has 64 steps of a line, or (`lines`) a step of 64 lines;
// then the rows of the next 64 lines follow `depth` rows later. The 16-byte groups of a row stand
// at their number xor the row's number modulo 8. The tile begins at a multiple of 1024 bytes (PTX
// ISA, wgmma, 128-byte swizzle).
constexpr char kDevice[] = R"(
#ifndef WEFT_EMULATE
// Elements of 16 bits to skip so that a tile in dynamic shared memory begins at 1024 bytes.
W_FN int w_tile_begin() { return (int)((1024 - (w_address(w_dynamic) & 1023)) & 1023) / 2; }
// Shows what the thread wrote to shared memory to the tensor cores; before a barrier.
W_FN void w_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Before the first product of a group.
W_FN void w_wgmma_open() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
W_FN void w_wgmma_close() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all groups but the last n.
template <int n, int count> W_FN void w_wgmma_wait(f32 (&c)[count]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory");
  if constexpr (n == 0) {
    #pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(c[i]) :: "memory");
  }
}
W_FN u64 w_describe(const u16* at, int across, int down) {
  return (u64)((w_address(at) & 0x3ffff) >> 4) | (u64)(across >> 4) << 16 |
         (u64)(down >> 4) << 32 | (u64)1 << 62;
}
template <bool lines> W_FN u64 w_describe_tile(const u16* at, int depth)
    { return w_describe(at, lines ? depth * 128 : 16, 1024); }
// c += a * b for 64 rows, COLUMNS columns and 16 steps, by the 128 threads of four warps. `a_lines`
// and `b_lines` say how the matrices stand.
#define W_WGMMA(T, type) \
  template <bool a_lines, bool b_lines> W_FN void w_wgmma( \
      f32 (&c)[COUNT], const u16* a, int a_at, const u16* b, int b_at, int depth, T) { \
    asm volatile("wgmma.mma_async.sync.aligned.m64nCOLUMNSk16.f32." type "." type \
        " {REGISTERS}, %COUNT, %NEXT, 1, 1, 1, %THIRD, %FOURTH;" \
        : OPERANDS \
        : "l"(w_describe_tile<a_lines>(a + a_at, depth)), \
          "l"(w_describe_tile<b_lines>(b + b_at, depth)), "n"(a_lines ? 1 : 0), \
          "n"(b_lines ? 1 : 0)); \
  }
W_WGMMA(m_f16, "f16") W_WGMMA(m_bf16, "bf16")
// Reads of c stay behind the wait for its group.
template <int count> W_FN void w_wgmma_take(f32 (&c)[count]) {
  #pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(c[i]) :: "memory");
}
// c = a * b.
#define W_WGMMA_FIRST(T, type) \
  template <bool a_lines, bool b_lines> W_FN void w_wgmma_first( \
      f32 (&c)[COUNT], const u16* a, int a_at, const u16* b, int b_at, int depth, T) { \
    asm volatile("wgmma.mma_async.sync.aligned.m64nCOLUMNSk16.f32." type "." type \
        " {REGISTERS}, %COUNT, %NEXT, 0, 1, 1, %THIRD, %FOURTH;" \
        : OPERANDS \
        : "l"(w_describe_tile<a_lines>(a + a_at, depth)), \
          "l"(w_describe_tile<b_lines>(b + b_at, depth)), "n"(a_lines ? 1 : 0), \
          "n"(b_lines ? 1 : 0)); \
  }
W_WGMMA_FIRST(m_f16, "f16") W_WGMMA_FIRST(m_bf16, "bf16")
#endif
)";

// The left matrix in registers, as that of w_mma for the 16 rows of each of the four warps.
constexpr char kKept[] = R"(
#ifndef WEFT_EMULATE
#define W_WGMMA_KEPT(T, type) \
  template <bool b_lines> W_FN void w_wgmma_kept( \
      f32 (&c)[COUNT], const u32* a, const u16* b, int b_at, int depth, T) { \
    asm volatile("wgmma.mma_async.sync.aligned.m64nCOLUMNSk16.f32." type "." type \
        " {REGISTERS}, {%COUNT, %NEXT, %THIRD, %FOURTH}, %FIFTH, 1, 1, 1, %SIXTH;" \
        : OPERANDS \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), \
          "l"(w_describe_tile<b_lines>(b + b_at, depth)), "n"(b_lines ? 1 : 0)); \
  }
W_WGMMA_KEPT(m_f16, "f16") W_WGMMA_KEPT(m_bf16, "bf16")
#endif
)";

// The text for instructions with so many columns.
std::string ForColumns(const char* text, int columns) {
  const int count = columns / 2;
  std::vector<std::string> registers;
  std::vector<std::string> operands;
  for (int i = 0; i < count; ++i) {
    registers.push_back(absl::StrCat("%", i));
    operands.push_back(absl::StrCat("\"+f\"(c[", i, "])"));
  }
  return absl::StrReplaceAll(text, {{"COLUMNS", absl::StrCat(columns)},
                                    {"REGISTERS", absl::StrJoin(registers, ", ")},
                                    {"OPERANDS", absl::StrJoin(operands, ", ")},
                                    {"COUNT", absl::StrCat(count)},
                                    {"NEXT", absl::StrCat(count + 1)},
                                    {"THIRD", absl::StrCat(count + 2)},
                                    {"FOURTH", absl::StrCat(count + 3)},
                                    {"FIFTH", absl::StrCat(count + 4)},
                                    {"SIXTH", absl::StrCat(count + 5)}});
}

}  // namespace

std::string WgmmaPrelude(int columns) { return ForColumns(kDevice, columns); }
std::string WgmmaKept(int columns) { return ForColumns(kKept, columns); }

}  // namespace weft::cuda
