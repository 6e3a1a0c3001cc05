#include "backends/cuda/emulate/kernel_header.h"

#include <cstddef>

namespace weft::cuda::emulate {
namespace {

constexpr char kHeader[] = R"(
#define WEFT_EMULATE 1
struct w_dim { unsigned x, y, z; };
struct w_region { char* begin; char* end; void* shadow; bool tracked; int number; };
struct w_now_t {
  w_dim thread, block, block_dim, grid_dim; w_region dynamic;
  unsigned long epoch, block_begin;
};
struct w_parameter { const void* value; char* place; w_region region; };
enum w_kind : unsigned char { w_is_value, w_is_read, w_is_written };
struct w_entry {
  unsigned num_parameters; const unsigned* bytes; const w_kind* kinds;
  void (*run)(const w_parameter*);
};
struct w_host_t {
  unsigned long size; w_now_t* now; void (*barrier)(int);
  unsigned long (*exchange)(int, unsigned, unsigned long, int);
  void (*access)(const w_region*, const char*, unsigned long, bool, long);
  void (*region_fault)(const char*, const w_region*, long);
  void (*shared_fault)(const char*, const char*, long, long);
};
extern "C" { const w_host_t* weft_host; unsigned long weft_host_size = sizeof(w_host_t); }
#define threadIdx (weft_host->now->thread)
#define blockIdx (weft_host->now->block)
#define blockDim (weft_host->now->block_dim)
#define gridDim (weft_host->now->grid_dim)
#define __syncthreads() weft_host->barrier(__LINE__)

// --- Functions that CUDA declares ---
extern "C" {
#define W_DECLARE1(name) float name##f(float); double name(double);
W_DECLARE1(exp) W_DECLARE1(exp2) W_DECLARE1(expm1) W_DECLARE1(log) W_DECLARE1(log2)
W_DECLARE1(log10) W_DECLARE1(log1p) W_DECLARE1(sin) W_DECLARE1(cos) W_DECLARE1(tan)
W_DECLARE1(asin) W_DECLARE1(acos) W_DECLARE1(atan) W_DECLARE1(sinh) W_DECLARE1(cosh)
W_DECLARE1(tanh) W_DECLARE1(asinh) W_DECLARE1(acosh) W_DECLARE1(atanh) W_DECLARE1(erf)
W_DECLARE1(erfc) W_DECLARE1(lgamma) W_DECLARE1(sqrt) W_DECLARE1(floor) W_DECLARE1(ceil)
W_DECLARE1(trunc) W_DECLARE1(rint) W_DECLARE1(fabs)
#define W_DECLARE2(name) float name##f(float, float); double name(double, double);
W_DECLARE2(pow) W_DECLARE2(atan2) W_DECLARE2(fmod) W_DECLARE2(copysign)
float fmaf(float, float, float); double fma(double, double, double);
}
template <class To, class From> static inline To w_pun(From from)
    { To to = {}; __builtin_memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
      return to; }
static inline unsigned __float_as_uint(float x) { return w_pun<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return w_pun<float>(x); }
static inline long long __double_as_longlong(double x) { return w_pun<long long>(x); }
static inline double __longlong_as_double(long long x) { return w_pun<double>(x); }
template <class T> static inline T w_shuffle(int line, unsigned mask, T x, int lane)
    { return w_pun<T>(weft_host->exchange(line, mask, w_pun<unsigned long>(x), lane)); }
static inline int w_lane(int d) {
  const int lane = threadIdx.x % 32 + d;
  return lane > 31 ? -1 : lane;
}
#define __shfl_down_sync(mask, x, d) w_shuffle(__LINE__, mask, x, w_lane(d))
#define __shfl_sync(mask, x, lane) w_shuffle(__LINE__, mask, x, lane)

// --- Pointers to global memory ---
template <class T> struct w_global { T* place; const w_region* region; };
template <class T> struct w_pointer { static constexpr w_kind kind = w_is_value; };
template <class T> struct w_pointer<w_global<T>> { static constexpr w_kind kind = w_is_written; };
template <class T> struct w_pointer<w_global<const T>>
    { static constexpr w_kind kind = w_is_read; };
template <class T> static inline T* w_access(const w_global<T>& p, long i, bool write) {
  T* const at = p.place + i;
  const w_region& r = *p.region;
  if ((char*)at < r.begin || (char*)(at + 1) > r.end) {
    weft_host->region_fault("an access outside of", &r, i);
  }
  if ((unsigned long)at % alignof(T) != 0) {
    weft_host->region_fault("an access at an odd address of", &r, i);
  }
  if (r.shadow) weft_host->access(&r, (char*)at, sizeof(T), write, i);
  return at;
}
template <class T> static inline const T& w_get(const w_global<T>& p, long i)
    { return *w_access(p, i, false); }
template <class T> static inline T& w_put(const w_global<T>& p, long i)
    { return *w_access(p, i, true); }
// Threads that raise a flag write the same value.
static inline void w_raise(const w_global<int>& p) {
  w_region r = *p.region;
  r.tracked = false;
  w_put(w_global<int>{p.place, &r}, 0) = 1;
}
static inline void w_raise_to(const w_global<int>& p, long i, int x) {
  w_region r = *p.region;
  r.tracked = false;
  const w_global<int> all = {p.place, &r};
  if (w_get(all, i) < x) w_put(all, i) = x;
}
template <class P, class Q> static inline bool w_same(const P& p, const Q& q)
    { return p.place == q.place; }
template <class To, class T> static inline w_global<To> w_as(const w_global<T>& p, long i)
    { return {(To*)(p.place + i), p.region}; }
#define W_FN static inline
#define W_MEMBER
#define W_KERNEL(...) extern "C" void
#define W_IN(T) const w_global<const T>
#define W_OUT(T) const w_global<T>
static inline w_global<char> w_rows(w_global<char> kept, bool shared, long at) {
  if (shared) return {weft_host->now->dynamic.begin, &weft_host->now->dynamic};
  return {kept.place + at, kept.region};
}
static inline float w_from_half(unsigned short x) { return (float)w_pun<_Float16>(x); }
static inline unsigned short w_to_half(float x) { return w_pun<unsigned short>((_Float16)x); }

// --- Shared memory ---
struct w_shadow { unsigned long written, read; unsigned writer, reader; bool many; };
template <class T, int n> struct w_shared {
  const char* name; T values[n]; w_shadow shadows[n];
  struct ref {
    w_shared* s; long i;
    operator T() const { s->will_read(i); return s->values[i]; }
    void operator=(T x) const { s->will_write(i); s->values[i] = x; }
    void operator=(const ref& x) const { *this = (T)x; }
  };
  ref operator[](long i) {
    if (i < 0 || i >= n) weft_host->shared_fault("an access outside of shared memory", name, i, n);
    return {this, i};
  }
  static unsigned me() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  void will_read(long i) {
    w_shadow& s = shadows[i]; const w_now_t& now = *weft_host->now;
    if (s.written < now.block_begin) {
      weft_host->shared_fault("a read of shared memory that was not written", name, i, n);
    }
    if (s.written == now.epoch && s.writer != me()) {
      weft_host->shared_fault("no barrier between a write and a read of shared memory", name, i, n);
    }
    s.many = s.read == now.epoch && (s.many || s.reader != me());
    s.read = now.epoch; s.reader = me();
  }
  void will_write(long i) {
    w_shadow& s = shadows[i]; const w_now_t& now = *weft_host->now;
    if (s.written == now.epoch && s.writer != me()) {
      weft_host->shared_fault("no barrier between two writes of shared memory", name, i, n);
    }
    if (s.read == now.epoch && (s.many || s.reader != me())) {
      weft_host->shared_fault("no barrier between a read and a write of shared memory", name, i, n);
    }
    s.written = now.epoch; s.writer = me();
  }
};
#define W_SHARED(T, name, n) static w_shared<T, n> name = {#name}
template <class T, int n, class Group>
static inline void w_put_shared(w_shared<T, n>& tile, int i, const Group& group) {
  constexpr int count = sizeof(Group) / sizeof(T);
  if (i % count != 0) {
    weft_host->shared_fault("an access at an odd address of shared memory", tile.name, i, n);
  }
  for (int k = 0; k < count; ++k) tile[i + k] = group.v[k];
}
template <class T, int n, class Group>
static inline void w_get_shared(w_shared<T, n>& tile, int i, Group* group) {
  constexpr int count = sizeof(Group) / sizeof(T);
  if (i % count != 0) {
    weft_host->shared_fault("an access at an odd address of shared memory", tile.name, i, n);
  }
  for (int k = 0; k < count; ++k) group->v[k] = tile[i + k];
}
template <int n> static inline unsigned w_get_pair(w_shared<unsigned short, n>& tile, int i) {
  if (i % 2 != 0) {
    weft_host->shared_fault("an access at an odd address of shared memory", tile.name, i, n);
  }
  return (unsigned short)tile[i] | (unsigned)(unsigned short)tile[i + 1] << 16;
}

static inline unsigned w_again(unsigned x) { return x; }

// --- Asynchronous copies ---
// A copy arrives when its thread waits for it, and has no content until then.
struct w_fetched { void (*arrive)(void*, int, const char*); void* tile; int i; char bytes[16]; };
struct w_fetches {
  unsigned long block; int items, groups; int ends[16]; w_fetched list[256];
  void check(bool fits) const {
    if (!fits) weft_host->shared_fault("too many copies to shared memory", "fetches", items, 256);
  }
};
static w_fetches& w_my_fetches() {
  static w_fetches all[1024];
  w_fetches& mine = all[threadIdx.x];
  if (mine.block != weft_host->now->block_begin) {
    mine.block = weft_host->now->block_begin; mine.items = 0; mine.groups = 0;
  }
  return mine;
}
template <class S, class T, int bytes> static void w_arrive(void* tile, int i, const char* from) {
  for (unsigned k = 0; k < bytes / sizeof(T); ++k) {
    T x; __builtin_memcpy(&x, from + k * sizeof(T), sizeof(T));
    (*(S*)tile)[i + k] = x;
  }
}
template <int bytes> struct alignas(bytes) w_bytes { char v[bytes]; };
template <int bytes, class T, int n, class P>
static inline void w_fetch(w_shared<T, n>& tile, int i, const P& p, bool valid) {
  if (i * sizeof(T) % bytes != 0) {
    weft_host->shared_fault("an access at an odd address of shared memory", tile.name, i, n);
  }
  w_fetches& mine = w_my_fetches();
  mine.check(mine.items < 256);
  w_fetched& f = mine.list[mine.items++];
  f = {w_arrive<w_shared<T, n>, T, bytes>, &tile, i, {}};
  if (valid) __builtin_memcpy(f.bytes, w_get(w_as<const w_bytes<bytes>>(p, 0), 0).v, bytes);
  char none[16]; __builtin_memset(none, 0xff, 16);
  f.arrive(&tile, i, none);
}
static inline void w_close() {
  w_fetches& mine = w_my_fetches();
  mine.check(mine.groups < 16);
  mine.ends[mine.groups++] = mine.items;
}
template <int left> static inline void w_wait() {
  w_fetches& mine = w_my_fetches();
  if (mine.groups <= left) return;
  const int done = mine.groups - left, end = mine.ends[done - 1];
  for (int k = 0; k < end; ++k) {
    mine.list[k].arrive(mine.list[k].tile, mine.list[k].i, mine.list[k].bytes);
  }
  for (int k = end; k < mine.items; ++k) mine.list[k - end] = mine.list[k];
  for (int g = done; g < mine.groups; ++g) mine.ends[g - done] = mine.ends[g] - end;
  mine.items -= end; mine.groups -= done;
}

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
template <class A, class B>
static inline void w_mma(unsigned* c, const unsigned* a, const unsigned* b, A, B) {
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
      c[e] += (unsigned)((int)(A)(x >> k % 4 * 8) * (int)(B)(y >> k % 4 * 8));
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
}
template <class A, class B>
static inline void w_mma(float* c, const unsigned* a, const unsigned* b, A, B) {
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
      c[e] += w_value(w_pun<A>((unsigned char)(x >> k % 4 * 8))) *
              w_value(w_pun<B>((unsigned char)(y >> k % 4 * 8)));
    }
  }
  weft_host->exchange(__LINE__, ~0u, 0, -1);
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

// --- Entries ---
template <class A> struct w_argument {
  static constexpr unsigned bytes = sizeof(A);
  static A get(const w_parameter& p) { return *(const A*)p.value; }
};
template <class T> struct w_argument<w_global<T>> {
  static constexpr unsigned bytes = 8;
  static w_global<T> get(const w_parameter& p) { return {(T*)p.place, &p.region}; }
};
template <int... i> struct w_numbers {};
template <int n, int... i> struct w_count : w_count<n - 1, n - 1, i...> {};
template <int... i> struct w_count<0, i...> { typedef w_numbers<i...> type; };
template <class T> struct w_plain { typedef T type; };
template <class T> struct w_plain<const T> { typedef T type; };
template <auto f> struct w_entries;
template <class... A, void (*f)(A...)> struct w_entries<f> {
  static constexpr unsigned bytes[] = {w_argument<typename w_plain<A>::type>::bytes..., 0};
  static constexpr w_kind kinds[] = {w_pointer<typename w_plain<A>::type>::kind..., w_is_value};
  template <int... i> static void call(const w_parameter* p, w_numbers<i...>)
      { f(w_argument<typename w_plain<A>::type>::get(p[i])...); }
  static void run(const w_parameter* p) { call(p, typename w_count<sizeof...(A)>::type()); }
  static constexpr w_entry entry = {sizeof...(A), bytes, kinds, run};
};
#line 1 "kernels.cu"
)";

bool IsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

const char* KernelHeader() { return kHeader; }

std::vector<std::string> KernelNames(const std::string& text) {
  const std::string mark = "\nW_KERNEL(";
  std::vector<std::string> names;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    size_t begin = text.find(')', at);
    if (begin == std::string::npos) break;
    begin = text.find_first_not_of(") \n", begin);
    if (begin == std::string::npos) break;
    size_t end = begin;
    while (end < text.size() && IsName(text[end])) ++end;
    names.push_back(text.substr(begin, end - begin));
  }
  return names;
}

std::string EntryText(const std::string& kernel) {
  return "extern \"C\" const w_entry* weft_entry_" + kernel + "() { return &w_entries<&" + kernel +
         ">::entry; }\n";
}

}  // namespace weft::cuda::emulate
