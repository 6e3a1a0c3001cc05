#include "backends/cuda/emulate/kernel_header.h"

#include <cstddef>

#include "backends/cuda/emulate/tile_header.h"

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
struct w_given { const void* value; char* place; w_region region; };
enum w_kind : unsigned char { w_is_value, w_is_read, w_is_written };
struct w_field_t { unsigned parameter, offset, bytes; w_kind kind; };
struct w_entry {
  unsigned num_parameters; const unsigned* bytes; unsigned num_fields; const w_field_t* fields;
  void (*run)(const w_given*);
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
)";

constexpr char kEntries[] = R"(
// --- Entries ---
template <class T> struct w_plain { typedef T type; };
template <class T> struct w_plain<const T> { typedef T type; };
// A parameter: describe() writes its fields, from an offset on, and returns what follows them.
template <class A> struct w_argument {
  static constexpr unsigned bytes = sizeof(A), fields = 1;
  static constexpr w_field_t* describe(w_field_t* f, unsigned parameter, unsigned offset)
      { *f = {parameter, offset, bytes, w_pointer<A>::kind}; return f + 1; }
  static A get(const w_given* f) { return *(const A*)f->value; }
};
template <class T> struct w_argument<w_global<T>> {
  static constexpr unsigned bytes = 8, fields = 1;
  static constexpr w_field_t* describe(w_field_t* f, unsigned parameter, unsigned offset)
      { *f = {parameter, offset, bytes, w_pointer<w_global<T>>::kind}; return f + 1; }
  static w_global<T> get(const w_given* f) { return {(T*)f->place, &f->region}; }
};
template <class A> struct w_argument<const A> : w_argument<A> {};
// A table has the fields of each entry, and one for all begins (emit/prelude.cc).
template <int n, class... T> struct w_table { const w_given* fields; };
template <int n, class... T> struct w_argument<w_table<n, T...>> {
  static constexpr unsigned entry = 8 * sizeof...(T), begins = (n + 1) * sizeof(unsigned);
  static constexpr unsigned bytes = n * entry + (begins + 7) / 8 * 8, fields = n * sizeof...(T) + 1;
  static constexpr w_field_t* describe(w_field_t* f, unsigned parameter, unsigned) {
    unsigned at = 0;
    for (int nest = 0; nest < n; ++nest) {
      ((f = w_argument<T>::describe(f, parameter, at), at += 8), ...);
    }
    *f = {parameter, at, begins, w_is_value};
    return f + 1;
  }
  static w_table<n, T...> get(const w_given* f) { return {f}; }
};
template <int k, class T, class... Rest> struct w_pick : w_pick<k - 1, Rest...> {};
template <class T, class... Rest> struct w_pick<0, T, Rest...> { typedef w_argument<T> type; };
template <int k, int n, class... T> static inline auto w_field(const w_table<n, T...>& table, int nest) {
  typedef typename w_pick<k, T...>::type argument;
  static_assert(argument::bytes == 8, "");
  return argument::get(table.fields + nest * (int)sizeof...(T) + k);
}
template <int n, class... T> static inline unsigned w_begin(const w_table<n, T...>& table, int nest)
    { return ((const unsigned*)table.fields[n * (int)sizeof...(T)].value)[nest]; }
template <int... i> struct w_numbers {};
template <int n, int... i> struct w_count : w_count<n - 1, n - 1, i...> {};
template <int... i> struct w_count<0, i...> { typedef w_numbers<i...> type; };
template <class... A> struct w_layout {
  static constexpr unsigned count = (0 + ... + w_argument<A>::fields);
  w_field_t fields[count + 1] = {};
  unsigned first[sizeof...(A) + 1] = {};  // By parameter: its first field.
  constexpr w_layout() {
    w_field_t* f = fields;
    unsigned parameter = 0;
    ((first[parameter] = f - fields, f = w_argument<A>::describe(f, parameter++, 0)), ...);
  }
};
template <auto f> struct w_entries;
template <class... A, void (*f)(A...)> struct w_entries<f> {
  static constexpr unsigned bytes[] = {w_argument<A>::bytes..., 0};
  static constexpr w_layout<A...> layout = {};
  template <int... i> static void call(const w_given* v, w_numbers<i...>)
      { f(w_argument<A>::get(v + layout.first[i])...); }
  static void run(const w_given* v) { call(v, typename w_count<sizeof...(A)>::type()); }
  static constexpr w_entry entry = {sizeof...(A), bytes, layout.count, layout.fields, run};
};
#line 1 "kernels.cu"
)";

bool IsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string KernelHeader() { return std::string(kHeader) + TileHeader() + kEntries; }

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
