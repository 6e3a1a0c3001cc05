#include "backends/cuda/trace/device_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler/json_text.h"

namespace weft::cuda {
namespace {

constexpr int64_t kRegisterPiece = 256;
constexpr int64_t kSharedPiece = 128;
constexpr int64_t kParts = 4;  // Of a multiprocessor.

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

absl::StatusOr<DeviceLimits> ReadLimits(const Libraries& libraries, CuDevice device, int ordinal) {
  DeviceLimits limits;
  limits.ordinal = ordinal;
  char name[256] = "";
  WEFT_RETURN_IF_ERROR(ToStatus(libraries, libraries.driver.device_name(name, sizeof(name), device),
                                "cuDeviceGetName"));
  limits.name = name;
  size_t bytes = 0;
  WEFT_RETURN_IF_ERROR(ToStatus(libraries, libraries.driver.device_total_memory(&bytes, device),
                                "cuDeviceTotalMem"));
  limits.memory_bytes = static_cast<int64_t>(bytes);
  const struct {
    CuDeviceAttribute attribute;
    int* value;
  } kAttributes[] = {
      {kCuComputeMajor, &limits.compute_major},
      {kCuComputeMinor, &limits.compute_minor},
      {kCuMultiprocessors, &limits.multiprocessors},
      {kCuThreadsPerBlock, &limits.threads_per_block},
      {kCuThreadsPerMultiprocessor, &limits.threads_per_multiprocessor},
      {kCuBlocksPerMultiprocessor, &limits.blocks_per_multiprocessor},
      {kCuRegistersPerBlock, &limits.registers_per_block},
      {kCuRegistersPerMultiprocessor, &limits.registers_per_multiprocessor},
      {kCuSharedBytesPerBlock, &limits.shared_per_block},
      {kCuSharedBytesPerBlockOptIn, &limits.shared_per_block_optin},
      {kCuSharedBytesPerMultiprocessor, &limits.shared_per_multiprocessor},
      {kCuReservedSharedBytesPerBlock, &limits.shared_reserved_per_block},
  };
  for (const auto& [attribute, value] : kAttributes) {
    WEFT_RETURN_IF_ERROR(ToStatus(libraries,
                                  libraries.driver.device_attribute(value, attribute, device),
                                  "cuDeviceGetAttribute"));
  }
  return limits;
}

std::string PropertiesJson(const DeviceLimits& limits) {
  std::string text = absl::StrCat("{\"id\": ", limits.ordinal, ", \"name\": ");
  profiler::AppendJsonString(limits.name, &text);
  const auto add = [&](const char* key, int64_t value) {
    absl::StrAppend(&text, ", \"", key, "\": ", value);
  };
  add("totalGlobalMem", limits.memory_bytes);
  add("computeMajor", limits.compute_major);
  add("computeMinor", limits.compute_minor);
  add("maxThreadsPerBlock", limits.threads_per_block);
  add("maxThreadsPerMultiprocessor", limits.threads_per_multiprocessor);
  add("regsPerBlock", limits.registers_per_block);
  add("warpSize", kWarpThreads);
  add("sharedMemPerBlock", limits.shared_per_block);
  add("numSms", limits.multiprocessors);
  add("regsPerMultiprocessor", limits.registers_per_multiprocessor);
  add("sharedMemPerBlockOptin", limits.shared_per_block_optin);
  add("sharedMemPerMultiprocessor", limits.shared_per_multiprocessor);
  return text + "}";
}

int64_t Occupancy::Blocks() const {
  return std::min({by_warps, by_blocks, by_registers, by_shared});
}

Occupancy OccupancyOf(const DeviceLimits& limits, const BlockUse& use) {
  Occupancy occupancy;
  occupancy.by_blocks = limits.blocks_per_multiprocessor;
  const int64_t warps = std::max<int64_t>((use.threads + kWarpThreads - 1) / kWarpThreads, 1);
  occupancy.by_warps = limits.threads_per_multiprocessor / kWarpThreads / warps;
  const int64_t of_warp = RoundUp(use.registers_per_thread * kWarpThreads, kRegisterPiece);
  occupancy.registers_per_block = of_warp * warps;
  if (of_warp == 0) {
    occupancy.by_registers = occupancy.by_blocks;
  } else if (occupancy.registers_per_block <= limits.registers_per_block) {
    const int64_t warps_of_part = limits.registers_per_multiprocessor / kParts / of_warp;
    occupancy.by_registers = warps_of_part * kParts / warps;
  }
  occupancy.shared_per_block =
      RoundUp(use.shared_bytes + limits.shared_reserved_per_block, kSharedPiece);
  occupancy.by_shared = occupancy.shared_per_block == 0
                            ? occupancy.by_blocks
                            : limits.shared_per_multiprocessor / occupancy.shared_per_block;
  return occupancy;
}

double ShareOfThreads(const DeviceLimits& limits, double blocks, int64_t threads) {
  if (limits.threads_per_multiprocessor <= 0) return 0;
  return std::min(blocks * static_cast<double>(threads) / limits.threads_per_multiprocessor, 1.0);
}

}  // namespace weft::cuda
