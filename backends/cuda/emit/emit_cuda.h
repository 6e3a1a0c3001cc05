// Emits kernels as CUDA C++: one translation unit without includes, for NVRTC and for the emulation
// (backends/cuda/emulate), which compiles the same text for the host.
//
// Each nest of a kernel becomes a function, which nests with equal text share. A function takes, in
// this order: its arguments; the values of its sizes (i64); the number of points of the outer loops
// (i64); if it keeps rows, their memory (char*) and whether they are in shared memory instead
// (i64); if it may read out of bounds, the address of an i32 that it then sets to 1.
//
//   kPoints: a thread computes a point of the outer loops, and runs the inner loops in order.
//   Points
//     are divided among all threads of the grid with a stride.
//   kRows: a block of 32 to 1024 threads, a multiple of 32, computes a point of the outer loops and
//     divides the inner loops among its threads; reductions have one partial result per thread, and
//     combine these by shuffles and through shared memory, always in the same order.
//
// A nest may have two functions: one for all sizes, and one that takes groups of neighbouring
// points (CudaGroups). For the latter, the number of points counts groups.
//
// A function that several nests of a kernel share takes a table of the arguments of some of them
// instead, and computes these nests in one launch: each in its own range of blocks. A block finds
// its nest by its number. The table is one parameter of at most kMaxTableBytes: for each nest the
// arguments, 8 bytes each; behind all, the first block of each nest (u32), and the number of
// blocks, again for each entry without a nest and once more.
//
// Results depend on the numbers of threads of a block and of splits, and not on that of blocks.
// Float sums are in two levels, so that their error does not grow with the number of elements.
#ifndef WEFT_BACKENDS_CUDA_EMIT_EMIT_CUDA_H_
#define WEFT_BACKENDS_CUDA_EMIT_EMIT_CUDA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cuda {

// Most threads of a block that emitted functions allow.
inline constexpr int kMaxThreads = 512;

// Parameters of a launch may have 4 KB on all GPUs and drivers.
inline constexpr int kMaxTableBytes = 4096;

enum class NestKind : uint8_t { kPoints, kRows };

struct CudaFunction {
  std::string symbol;
  int table = 0;  // Most nests of a launch; 0: the function takes the arguments of one nest.
};

// A function that computes `size` neighbouring points in one thread, and accesses their elements
// together, up to 16 bytes at a time.
struct CudaGroups {
  int size = 1;  // 1: the nest has no such function.
  CudaFunction function;
  // The function can be launched if these are multiples of `size`, and so are the places of the
  // first elements, in the kernel's arguments with these numbers.
  std::vector<SymInt> multiples;
  std::vector<int> args;  // Indices of CudaNest::args.
};

// Bytes of a part of a reduction that is split.
inline constexpr int kPartBytes = 16;

// Parts into which a reduction is split, so that it fills a large GPU; 1: it is not split. `points`
// and `inner` count groups.
int64_t CountSplits(NestKind kind, int64_t points, int64_t inner);

// Functions that reduce a nest in two launches: `parts` divides the inner points of each point into
// `splits` parts, `finish` combines these in order. Both take the address of memory for
// reductions * points * splits parts, and the number of splits, behind the other parameters. The
// points of `parts` count groups as those of the nest's other functions, those of `finish` do not.
struct CudaSplit {
  int reductions = 0;  // 0: the nest cannot be split.
  CudaFunction parts;
  CudaFunction group_parts;  // With groups.
  CudaFunction finish;
};

// A nest, and all that its launches depend on.
struct CudaNest {
  CudaFunction function;
  CudaGroups groups;
  CudaSplit split;
  NestKind kind = NestKind::kPoints;
  std::vector<int> args;       // Numbers of the kernel's arguments.
  std::vector<SymInt> begins;  // Elements added to them.
  std::vector<SymInt> sizes;
  SymInt points;     // Points of the outer loops.
  SymInt inner;      // Points of the inner loops.
  int rows = 0;      // Rows that it keeps; 0: none.
  int row_slot = 0;  // Bytes of an element of a row.
  bool checks = false;
};

struct CudaKernel {
  std::vector<CudaNest> nests;
};

struct CudaUnit {
  std::string text;
  std::vector<CudaKernel> kernels;
};

// Emits a batch of kernels, in order. Names of functions are `prefix` and a number. InvalidArgument
// for undecided schedules; Unimplemented names the kernel and the unsupported feature.
absl::StatusOr<CudaUnit> EmitCuda(absl::Span<const Kernel* const> kernels,
                                  absl::string_view prefix = "weft_nest");

// A kernel without loops that stores one element, as a function of the values that it loads:
// "W_FN f32 name(f32 a0, f32 a1) {...}". It returns what the kernel stores, before that is
// converted to the dtype in memory. Unimplemented if it depends on sizes.
absl::StatusOr<std::string> EmitScalarFunction(const Kernel& kernel, absl::string_view name);

// A kernel that finishes a routine's results (lowering/finish_kernel.h) as a function of the result
// and of the elements that it loads besides.
struct FinishFunction {
  std::string text;        // "W_FN u8 name(i32 x, f32 l3, ...) {...}"; it returns what is stored.
  std::vector<int> loads;  // The instructions that load l3, ...
};
absl::StatusOr<FinishFunction> EmitFinishFunction(const Kernel& kernel, absl::string_view name);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_EMIT_CUDA_H_
