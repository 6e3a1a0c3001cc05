// What kernels compiled for the host and the emulation share; kernel_header.cc declares the same
// structs in the kernels' text. A kernel's library is refused if the size of HostCalls differs.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_KERNEL_ABI_H_
#define WEFT_BACKENDS_CUDA_EMULATE_KERNEL_ABI_H_

#include <cstdint>

namespace weft::cuda::emulate {

struct Dim {
  unsigned x = 1, y = 1, z = 1;

  unsigned count() const { return x * y * z; }
};

class Shadow;

// Memory that a kernel accesses by a pointer.
struct Region {
  // The range that it may access.
  char* begin = nullptr;
  char* end = nullptr;
  Shadow* shadow = nullptr;  // Null: accesses inside of the range are not checked.
  bool tracked = false;      // The kernel writes to some of the memory.
  int number = 0;            // Of the pointer in the parameters; -1: dynamic shared memory.
};

// The running thread and its block.
struct Now {
  Dim thread, block, block_dim, grid_dim;
  Region dynamic;  // Dynamic shared memory.
  // Number of the interval between two barriers, and that of the block's first interval.
  uint64_t epoch = 0;
  uint64_t block_begin = 0;
};

// A field of a launch's parameters: the bytes of its value; for pointers, the place in host memory
// that the value stands for, and its region.
struct FieldValue {
  const void* value = nullptr;
  char* place = nullptr;
  Region region;
};

enum class FieldKind : uint8_t { kValue, kRead, kWritten };

// A parameter, or a member of one that is a table.
struct Field {
  unsigned parameter;
  unsigned offset;  // Bytes from the begin of the parameter.
  unsigned bytes;
  FieldKind kind;
};

// A kernel.
struct Entry {
  unsigned num_parameters;
  const unsigned* bytes;  // By parameter.
  unsigned num_fields;
  const Field* fields;
  void (*run)(const FieldValue*);  // By field.
};

struct HostCalls {
  uint64_t size = sizeof(HostCalls);
  Now* now = nullptr;
  // Waits for all threads of the block. `line` is that of the call in the kernels' text.
  void (*barrier)(int line) = nullptr;
  // Gives `value` to the lanes of the warp that ask for it, and returns that of `lane`; -1: its
  // own.
  uint64_t (*exchange)(int line, unsigned mask, uint64_t value, int lane) = nullptr;
  // An access to `bytes` bytes inside of the region; ends the kernel if it is wrong. `index`: for
  // the message.
  void (*access)(const Region* region, const char* at, uint64_t bytes, bool write,
                 int64_t index) = nullptr;
  // Both end the kernel with an error and do not return: for a region, and for an array of `limit`
  // elements in shared memory.
  void (*region_fault)(const char* what, const Region* region, int64_t index) = nullptr;
  void (*shared_fault)(const char* what, const char* name, int64_t index, int64_t limit) = nullptr;
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_KERNEL_ABI_H_
