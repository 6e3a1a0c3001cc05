// Limits of a GPU, and the blocks of a kernel that fit on a multiprocessor at a time.
#ifndef WEFT_BACKENDS_CUDA_TRACE_DEVICE_LIMITS_H_
#define WEFT_BACKENDS_CUDA_TRACE_DEVICE_LIMITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "backends/cuda/driver/libraries.h"

namespace weft::cuda {

inline constexpr int kWarpThreads = 32;

struct DeviceLimits {
  std::string name;
  int ordinal = 0;
  int64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  int shared_per_block = 0;        // Bytes, likewise below.
  int shared_per_block_optin = 0;  // With the attribute that allows more.
  int shared_per_multiprocessor = 0;
  int shared_reserved_per_block = 0;
};

absl::StatusOr<DeviceLimits> ReadLimits(const Libraries& libraries, CuDevice device, int ordinal);

// One JSON object with Kineto's fields of `deviceProperties`.
std::string PropertiesJson(const DeviceLimits& limits);

// What a block of a kernel takes.
struct BlockUse {
  int64_t threads = 0;
  int64_t registers_per_thread = 0;
  int64_t shared_bytes = 0;  // Static and dynamic.
};

// Blocks on a multiprocessor at a time, as each limit allows. By CUDA's rules: registers are given
// to warps in pieces of 256, in each of the four parts of a multiprocessor; shared memory in pieces
// of 128 bytes.
struct Occupancy {
  int64_t by_warps = 0;
  int64_t by_blocks = 0;
  int64_t by_registers = 0;
  int64_t by_shared = 0;
  int64_t registers_per_block = 0;
  int64_t shared_per_block = 0;

  int64_t Blocks() const;  // The least.
};
Occupancy OccupancyOf(const DeviceLimits& limits, const BlockUse& use);

// The part of the multiprocessor's threads that the blocks have, in [0, 1].
double ShareOfThreads(const DeviceLimits& limits, double blocks, int64_t threads);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_DEVICE_LIMITS_H_
