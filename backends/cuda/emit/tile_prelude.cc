#include "backends/cuda/emit/tile_prelude.h"

namespace weft::cuda {
namespace {

// The emulation has its own versions of these. Architectures below sm_80 copy at once.
constexpr char kDevice[] = R"(
#ifndef WEFT_EMULATE
// A tile in dynamic shared memory that begins at that byte.
#define W_DYNAMIC(T, name, at) T* const name = (T*)(w_dynamic + (at))
struct alignas(16) w_chunk { u32 v[4]; };
W_FN u32 w_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Begins to copy 16 bytes to element `at` of a tile; zeros unless `valid`, and nothing is read then.
// The bytes are there for this thread after w_tile_await, and for others after a barrier behind it.
template <class T> W_FN void w_tile_fetch(T* tile, int at, const T* from, i64 i, bool valid) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(w_address(tile + at)), "l"(from + i), "r"(valid ? 16 : 0));
#else
  w_chunk chunk = {};
  if (valid) chunk = *(const w_chunk*)(from + i);
  *(w_chunk*)(tile + at) = chunk;
#endif
}
// Ends a group of copies.
W_FN void w_tile_commit() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::);
#endif
}
// Waits for all groups but the last n.
template <int n> W_FN void w_tile_await() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" :: "n"(n));
#endif
}
// Four pieces of 8 x 8 elements of 16 bits. Lane l names the first element of row l % 8 of piece
// l / 8; it gets elements 2 * (l % 4) and the next one of row l / 4 of each piece, or, for pieces
// that are read across, element l / 4 of these two rows.
template <class T> W_FN void w_pieces(u32* r, const T* tile, int at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(w_address(tile + at)));
}
template <class T> W_FN void w_pieces_across(u32* r, const T* tile, int at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(w_address(tile + at)));
}
// Two floats as a pair of elements, the first in the low half.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
W_FN u32 w_join(f32 a, f32 b, m_f16)
    { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
W_FN u32 w_join(f32 a, f32 b, m_bf16)
    { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
#endif
// 2^x with an error of 2 ulps; results below 2^-126 are 0.
W_FN f32 w_fast_exp2(f32 x)
    { f32 r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
// The larger one; one that is not NaN, if there is one.
W_FN f32 w_larger(f32 a, f32 b) { return fmaxf(a, b); }
W_FN f32 w_xor_lane(f32 x, int d) { return __shfl_xor_sync(~0u, x, d); }
W_FN bool w_any_lane(bool x) { return __any_sync(~0u, x); }
// Orders accesses of the threads of a warp to shared memory.
W_FN void w_warp_barrier() { __syncwarp(); }
#endif
)";

}  // namespace

std::string TilePrelude() { return kDevice; }

}  // namespace weft::cuda
