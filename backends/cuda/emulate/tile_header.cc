#include "backends/cuda/emulate/tile_header.h"

namespace weft::cuda::emulate {
namespace {

constexpr char kHeader[] = R"(
// --- Tensor cores ---
template <int n> static inline unsigned w_halves(w_shared<unsigned short, n>& tile, int i)
    { return (unsigned short)tile[i]; }
template <int n> static inline unsigned w_halves(w_shared<unsigned char, n>& tile, int i)
    { return (unsigned char)tile[2 * i] | (unsigned)(unsigned char)tile[2 * i + 1] << 8; }
template <bool transposed, class T, int n>
static inline void w_read_matrices(unsigned* r, w_shared<T, n>& tile, int i) {
  static int rows[32][32];
  if (i * sizeof(T) % 16 != 0) {
    weft_host->shared_fault("an access at an odd address of shared memory", tile.name, i, n);
  }
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  rows[warp][lane] = i * (int)sizeof(T) / 2;
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  for (int m = 0; m < 4; ++m) {
    const int* at = rows[warp] + m * 8;
    unsigned pair[2];
    for (int h = 0; h < 2; ++h) {
      const int column = lane % 4 * 2 + h, row = lane / 4;
      pair[h] = w_halves(tile, transposed ? at[column] + row : at[row] + column);
    }
    r[m] = pair[0] | pair[1] << 16;
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
template <class S> static inline void w_matrices(unsigned* r, S& tile, int i)
    { w_read_matrices<false>(r, tile, i); }
template <class S> static inline void w_matrices_transposed(unsigned* r, S& tile, int i)
    { w_read_matrices<true>(r, tile, i); }
template <class T> static inline void w_mma(float* c, const unsigned* a, const unsigned* b, T) {
  static unsigned lanes[32][32][6];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) lanes[warp][lane][i] = a[i];
  for (int i = 0; i < 2; ++i) lanes[warp][lane][4 + i] = b[i];
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  const auto product = [](unsigned x, unsigned y) {
    return w_value(w_pun<T>((unsigned short)x)) * w_value(w_pun<T>((unsigned short)y));
  };
  for (int e = 0; e < 4; ++e) {
    const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < 16; ++k) {
      const unsigned x = lanes[warp][row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      const unsigned y = lanes[warp][column * 4 + k % 8 / 2][4 + k / 8];
      c[e] += product(x >> k % 2 * 16, y >> k % 2 * 16);
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
// Adds the products of bytes, four in a register.
template <class C, class Product>
static inline void w_mma_bytes(C* c, const unsigned* a, const unsigned* b, Product product) {
  static unsigned lanes[32][32][6];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) lanes[warp][lane][i] = a[i];
  for (int i = 0; i < 2; ++i) lanes[warp][lane][4 + i] = b[i];
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  for (int e = 0; e < 4; ++e) {
    const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < 32; ++k) {
      const unsigned x = lanes[warp][row % 8 * 4 + k % 16 / 4][row / 8 + k / 16 * 2];
      const unsigned y = lanes[warp][column * 4 + k % 16 / 4][4 + k / 16];
      c[e] += product((unsigned char)(x >> k % 4 * 8), (unsigned char)(y >> k % 4 * 8));
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
template <class A, class B>
static inline void w_mma(unsigned* c, const unsigned* a, const unsigned* b, A, B) {
  w_mma_bytes(c, a, b, [](unsigned char x, unsigned char y) {
    return (unsigned)((int)(A)x * (int)(B)y);
  });
}
template <class A, class B>
static inline void w_mma(float* c, const unsigned* a, const unsigned* b, A, B) {
  w_mma_bytes(c, a, b, [](unsigned char x, unsigned char y) {
    return w_value(w_pun<A>(x)) * w_value(w_pun<B>(y));
  });
}
template <class T> static inline unsigned w_add_bytes(unsigned bytes, unsigned x, T) {
  for (int i = 0; i < 4; ++i) x += (unsigned)(int)(T)(bytes >> 8 * i);
  return x;
}

static inline void w_mma_tf32(float* c, const float* a, const float* b) {
  static float lanes[32][32][6];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto read = [](float x) { return __uint_as_float(__float_as_uint(x) & ~0x1fffu); };
  for (int i = 0; i < 4; ++i) lanes[warp][lane][i] = read(a[i]);
  for (int i = 0; i < 2; ++i) lanes[warp][lane][4 + i] = read(b[i]);
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  for (int e = 0; e < 4; ++e) {
    const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < 8; ++k) {
      c[e] += lanes[warp][row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] *
              lanes[warp][column * 4 + k % 4][4 + k / 4];
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}

// --- Tiles (emit/tile_prelude.cc) ---
#define W_DYNAMIC(T, name, at) \
  const w_global<T> name = {(T*)(weft_host->now->dynamic.begin + (at)), &weft_host->now->dynamic}
struct alignas(16) w_chunk { unsigned v[4]; };
// Copies that have begun, by thread: the bytes arrive when they are awaited, and are NaN before.
struct w_tile_copies {
  struct { w_global<w_chunk> to; w_global<const w_chunk> from; bool valid; int group; } all[256];
  int count, group; unsigned long block;
};
static inline w_tile_copies& w_my_tile_copies() {
  static w_tile_copies copies[1024];
  w_tile_copies& mine = copies[threadIdx.x];
  if (mine.block != weft_host->now->block_begin) {
    mine.count = mine.group = 0; mine.block = weft_host->now->block_begin;
  }
  return mine;
}
template <class To, class From>
static inline void w_tile_fetch(const w_global<To>& tile, int at, const w_global<From>& from, long i,
                           bool valid) {
  w_tile_copies& mine = w_my_tile_copies();
  if (mine.count == 256) weft_host->region_fault("too many copies that nobody awaits to", tile.region, at);
  auto& copy = mine.all[mine.count++];
  copy = {w_as<w_chunk>(tile, at), w_as<const w_chunk>(from, i), valid, mine.group};
  w_put(copy.to, 0) = {~0u, ~0u, ~0u, ~0u};
}
static inline void w_tile_commit() { ++w_my_tile_copies().group; }
template <int n> static inline void w_tile_await() {
  w_tile_copies& mine = w_my_tile_copies();
  int kept = 0;
  for (int c = 0; c < mine.count; ++c) {
    auto& copy = mine.all[c];
    if (copy.group >= mine.group - n) { mine.all[kept++] = copy; continue; }
    w_put(copy.to, 0) = copy.valid ? w_get(copy.from, 0) : w_chunk();
  }
  mine.count = kept;
}
template <class T>
static inline void w_pieces(unsigned* r, const w_global<T>& tile, int at, bool across = false) {
  static int places[32][32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if ((unsigned long)(tile.place + at) % 16 != 0) {
    weft_host->region_fault("an access at an odd address of", tile.region, at);
  }
  places[warp][lane] = at;
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  for (int piece = 0; piece < 4; ++piece) {
    unsigned short e[2];
    for (int h = 0; h < 2; ++h) {
      const int row = across ? lane % 4 * 2 + h : lane / 4;
      const int column = across ? lane / 4 : lane % 4 * 2 + h;
      e[h] = w_get(w_as<unsigned short>(tile, places[warp][piece * 8 + row] + column), 0);
    }
    r[piece] = e[0] | (unsigned)e[1] << 16;
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
template <class T>
static inline void w_pieces_across(unsigned* r, const w_global<T>& tile, int at)
    { w_pieces(r, tile, at, true); }
template <class T> static inline unsigned w_join(float a, float b, T) {
  T x, y;
  w_set(&x, a); w_set(&y, b);
  return x.v | (unsigned)y.v << 16;
}
static inline float w_fast_exp2(float x) { return exp2f(x); }
static inline float w_larger(float a, float b) { return a != a || b > a ? b : a; }
static inline float w_xor_lane(float x, int d)
    { return w_shuffle(__LINE__, ~0u, x, (int)(threadIdx.x % 32) ^ d); }
static inline bool w_any_lane(bool x) {
  static unsigned lanes[32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  lanes[warp] = lanes[warp] & ~(1u << lane) | (unsigned)x << lane;
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  const bool any = lanes[warp] != 0;
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  return any;
}
// The checks know barriers of a block alone.
#define w_warp_barrier() __syncthreads()

// --- Products of tiles (emit/wgmma_prelude.cc) ---
// A product is computed when its thread waits for it: what is overwritten before is a fault.
struct w_wgmma_call {
  void (*run)(const w_wgmma_call&); float* c; w_global<unsigned short> a, b; int a_at, b_at, depth;
  bool first; float rows[2][16];  // The rows of a left matrix in registers.
};
struct w_wgmma_calls {
  w_wgmma_call list[64]; int ends[8]; int count, groups; bool published; unsigned long block;
};
static inline w_wgmma_calls& w_my_wgmma_calls() {
  static w_wgmma_calls calls[1024];
  w_wgmma_calls& mine = calls[threadIdx.x];
  if (mine.block != weft_host->now->block_begin) {
    mine.count = mine.groups = 0; mine.published = false; mine.block = weft_host->now->block_begin;
  }
  return mine;
}
static inline int w_tile_begin() { return 0; }
static inline void w_publish() { w_my_wgmma_calls().published = true; }
static inline void w_wgmma_open() {
  w_wgmma_calls& mine = w_my_wgmma_calls();
  if (!mine.published) {
    weft_host->region_fault("products of what was not published in", &weft_host->now->dynamic, 0);
  }
  mine.published = false;
}
template <bool lines> static inline int w_wgmma_place(int at, int line, int k, int depth) {
  const int byte = at * 2 + (lines ? line / 64 * depth * 128 + k * 128 + line % 64 * 2
                                   : line * 128 + k * 2);
  return (byte ^ (byte >> 7 & 7) << 4) / 2;
}
template <bool a_lines, bool b_lines, int count, class T>
static void w_wgmma_run(const w_wgmma_call& q) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const auto value = [](const w_global<unsigned short>& p, int i) {
    return w_value(w_pun<T>(w_get(p, i)));
  };
  for (int h = 0; h < 2; ++h) {
    float x[16];
    for (int e = 2 * h; q.first && e < count; e += e % 2 ? 3 : 1) q.c[e] = 0;
    for (int k = 0; k < 16; ++k) {
      x[k] = value(q.a, w_wgmma_place<a_lines>(q.a_at, warp * 16 + lane / 4 + h * 8, k, q.depth));
    }
    for (int e = 2 * h; e < count; e += e % 2 ? 3 : 1) {
      for (int k = 0; k < 16; ++k) {
        q.c[e] += x[k] * value(q.b, w_wgmma_place<b_lines>(
                                        q.b_at, e / 4 * 8 + lane % 4 * 2 + e % 2, k, q.depth));
      }
    }
  }
}
template <bool a_lines, bool b_lines, int count, class T>
static inline void w_wgmma(float (&c)[count], const w_global<unsigned short>& a, int a_at,
                           const w_global<unsigned short>& b, int b_at, int depth, T) {
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  w_wgmma_calls& mine = w_my_wgmma_calls();
  if (mine.count == 64) weft_host->region_fault("too many products that nobody awaits in", a.region, 0);
  mine.list[mine.count++] = {w_wgmma_run<a_lines, b_lines, count, T>, c, a, b, a_at, b_at, depth};
}
template <bool a_lines, bool b_lines, int count, class T>
static inline void w_wgmma_first(float (&c)[count], const w_global<unsigned short>& a, int a_at,
                                 const w_global<unsigned short>& b, int b_at, int depth, T t) {
  w_wgmma<a_lines, b_lines>(c, a, a_at, b, b_at, depth, t);
  w_wgmma_calls& mine = w_my_wgmma_calls();
  mine.list[mine.count - 1].first = true;
}
template <bool b_lines, int count, class T> static void w_wgmma_run_kept(const w_wgmma_call& q) {
  const int lane = threadIdx.x % 32;
  for (int e = 0; e < count; ++e) {
    for (int k = 0; k < 16; ++k) {
      const int place = w_wgmma_place<b_lines>(q.b_at, e / 4 * 8 + lane % 4 * 2 + e % 2, k, q.depth);
      q.c[e] += q.rows[e / 2 % 2][k] * w_value(w_pun<T>(w_get(q.b, place)));
    }
  }
}
template <bool b_lines, int count, class T>
static inline void w_wgmma_kept(float (&c)[count], const unsigned* a,
                                const w_global<unsigned short>& b, int b_at, int depth, T) {
  static unsigned lanes[32][32][4];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) lanes[warp][lane][i] = a[i];
  weft_host->exchange(__LINE__, ~0u, 0, -1);
  w_wgmma_calls& mine = w_my_wgmma_calls();
  if (mine.count == 64) weft_host->region_fault("too many products that nobody awaits in", b.region, 0);
  w_wgmma_call& call = mine.list[mine.count++];
  call = {w_wgmma_run_kept<b_lines, count, T>, c, b, b, 0, b_at, depth};
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < 16; ++k) {
      const unsigned pair = lanes[warp][lane / 4 * 4 + k % 8 / 2][h + k / 8 * 2];
      call.rows[h][k] = w_value(w_pun<T>((unsigned short)(pair >> k % 2 * 16)));
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
template <int count> static inline void w_wgmma_take(float (&)[count]) {}
static inline void w_wgmma_close() {
  w_wgmma_calls& mine = w_my_wgmma_calls();
  mine.ends[mine.groups++] = mine.count;
}
template <int left, int count> static inline void w_wgmma_wait(float (&)[count]) {
  w_wgmma_calls& mine = w_my_wgmma_calls();
  if (mine.groups <= left) return;
  const int done = mine.groups - left, end = mine.ends[done - 1];
  for (int k = 0; k < end; ++k) mine.list[k].run(mine.list[k]);
  for (int k = end; k < mine.count; ++k) mine.list[k - end] = mine.list[k];
  for (int g = done; g < mine.groups; ++g) mine.ends[g - done] = mine.ends[g] - end;
  mine.count -= end; mine.groups -= done;
}
)";

}  // namespace

const char* TileHeader() { return kHeader; }

}  // namespace weft::cuda::emulate
