#include "backends/cuda/routines/zero_sums_text.h"

#include "absl/strings/str_cat.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

// A sum of (a - z) * (b - y) is that of a * b, less z times that of b, less y times that of a, and
// the zero points' product for each step.
constexpr char kZeroSums[] = R"(
template <int rows, int columns> struct w_zero_sums {
#if W_ZERO_A || W_ZERO_B
  // Sums of the rows' elements, and of the columns'; of the lane's fragments alone before take().
  u32 of_rows[2 * rows], of_columns[columns];
  W_MEMBER w_zero_sums() : of_rows{}, of_columns{} {}
  template <class P, class Q> W_MEMBER void add(const P& p, const Q& q) {
#if W_ZERO_B
    #pragma unroll
    for (int i = 0; i < rows; ++i) {
      #pragma unroll
      for (int h = 0; h < 4; ++h)
        of_rows[2 * i + h % 2] = w_add_bytes(p[i][h], of_rows[2 * i + h % 2], W_OF_A());
    }
#endif
#if W_ZERO_A
    constexpr int each = sizeof(q[0]) / sizeof(u32);
    #pragma unroll
    for (int f = 0; f < 2 * columns; ++f)
      of_columns[f / 2] = w_add_bytes(q[f / each][f % each], of_columns[f / 2], W_OF_B());
#endif
  }
  // Four lanes have parts of it.
  static W_MEMBER u32 whole(u32 x) {
    const int lane = threadIdx.x % 32;
    x += w_from_lane(x, lane ^ 1);
    return x + w_from_lane(x, lane ^ 2);
  }
  template <class Left, class Right> W_MEMBER void take(u32* sum, u32 steps, const Left& left,
                                                        const Right& right) {
    const int lane = threadIdx.x % 32;
    u32 of_left[2 * rows];
    #pragma unroll
    for (int i = 0; i < 2 * rows; ++i) {
      of_rows[i] = whole(of_rows[i]);
      of_left[i] = left(8 * i + lane / 4);
    }
    #pragma unroll
    for (int j = 0; j < columns; ++j) {
      const u32 all = whole(of_columns[j]);
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        const u32 y = right(8 * j + lane % 4 * 2 + e);
        const u32 of_column = w_from_lane(all, lane % 4 * 8 + e * 4);
        #pragma unroll
        for (int i = 0; i < 2 * rows; ++i) {
          sum[(i / 2 * columns + j) * 4 + i % 2 * 2 + e] +=
              of_left[i] * (steps * y - of_column) - y * of_rows[i];
        }
      }
    }
  }
#else
  template <class P, class Q> W_MEMBER void add(const P&, const Q&) {}
  template <class S, class Left, class Right> W_MEMBER void take(S*, u32, const Left&,
                                                                 const Right&) {}
#endif
};
)";

}  // namespace

std::string OperandsText(const ProductOperands& operands) {
  const bool bytes = operands.bytes();
  return absl::StrCat("#define W_OF_A ", bytes ? MemoryType(operands.left) : "TYPE",
                      "\n#define W_OF_B ", bytes ? MemoryType(operands.right) : "TYPE",
                      "\n#define W_ZERO_A ", static_cast<int>(operands.left_zero),
                      "\n#define W_ZERO_B ", static_cast<int>(operands.right_zero),
                      "\n#define W_ZERO_PARAMETERS ",
                      operands.integer_bytes() ? ", W_IN(W_OF_A) a_zero, W_IN(W_OF_B) b_zero" : "",
                      "\n#define W_MMA_TYPES ",
                      operands.as_halves ? "m_f16()"
                      : bytes            ? "W_OF_A(), W_OF_B()"
                                         : "TYPE()",
                      "\n");
}

std::string ZeroSumsText() { return kZeroSums; }

}  // namespace weft::cuda
