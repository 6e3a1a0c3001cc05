#include "backends/cuda/trace/gpu_models.h"

#include <vector>

namespace weft::cuda {
namespace {

// What all of these have.
DeviceLimits LimitsOf(const char* name, int major, int minor, int multiprocessors) {
  DeviceLimits limits;
  limits.name = name;
  limits.compute_major = major;
  limits.compute_minor = minor;
  limits.multiprocessors = multiprocessors;
  limits.threads_per_block = 1024;
  limits.registers_per_block = limits.registers_per_multiprocessor = 64 << 10;
  limits.shared_per_block = 48 << 10;
  limits.shared_reserved_per_block = 1 << 10;
  return limits;
}

GpuModel Hopper() {
  GpuModel model;
  model.limits = LimitsOf("H200", 9, 0, 132);
  model.limits.memory_bytes = int64_t{141} * 1000 * 1000 * 1000;
  model.limits.threads_per_multiprocessor = 2048;
  model.limits.blocks_per_multiprocessor = 32;
  model.limits.shared_per_block_optin = 227 << 10;
  model.limits.shared_per_multiprocessor = 228 << 10;
  model.arch = "sm_90";
  model.gbytes_per_second = 4800;
  model.f32_gflops = 66900;
  model.tensor_gflops = 989000;
  return model;
}

GpuModel Ada(const char* name, int multiprocessors, int gbytes) {
  GpuModel model;
  model.limits = LimitsOf(name, 8, 9, multiprocessors);
  model.limits.memory_bytes = int64_t{gbytes} << 30;
  model.limits.threads_per_multiprocessor = 1536;
  model.limits.blocks_per_multiprocessor = 24;
  model.limits.shared_per_block_optin = 99 << 10;
  model.limits.shared_per_multiprocessor = 100 << 10;
  model.arch = "sm_89";
  return model;
}

}  // namespace

const GpuModel* FindGpuModel(absl::string_view name) {
  static const auto& models = *[] {
    GpuModel l4 = Ada("L4", 58, 24);
    l4.gbytes_per_second = 300;
    l4.f32_gflops = 30300;
    l4.tensor_gflops = 121000;
    GpuModel rtx = Ada("RTX4090", 128, 24);
    rtx.gbytes_per_second = 1008;
    rtx.f32_gflops = 82600;
    rtx.tensor_gflops = 165000;
    return new std::vector<GpuModel>{Hopper(), l4, rtx};
  }();
  for (const GpuModel& model : models) {
    if (model.limits.name == name) return &model;
  }
  return nullptr;
}

}  // namespace weft::cuda
