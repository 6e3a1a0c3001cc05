#include "tests/backends/plugin/toy_device.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Opaque to Weft: the interface names them outside of any namespace.
struct weft_device {
  int unused;
};
struct weft_code {
  weft_kernel kernel;
  std::vector<int64_t> sizes;
};
struct weft_plan {
  int unused;
};

namespace weft::plugin {
namespace {

// No address of a process has this bit.
constexpr uintptr_t kHidden = uintptr_t{1} << 62;
constexpr int kPoison = 0xA5;

ToyDevice* toy = nullptr;
weft_device device;

weft_status Open(const weft_host* host, const char* const*, weft_device** to, weft_device_error*) {
  toy->host = host;
  ++toy->opened;
  *to = &device;
  return WEFT_OK;
}
void Close(weft_device*) { --toy->opened; }

weft_status DoAllocate(weft_device*, int64_t bytes, int64_t, void** memory, weft_device_error*) {
  return toy->on_allocate ? toy->on_allocate(memory) : toy->Allocate(bytes, memory);
}
void Deallocate(weft_device*, void* memory) {
  --toy->live;
  // A test may have moved the address a little.
  const uintptr_t address = reinterpret_cast<uintptr_t>(ToyDevice::Reveal(memory));
  std::free(reinterpret_cast<void*>(address / 64 * 64));
}
weft_status CopyIn(weft_device*, weft_stream*, void* to, const void* from, int64_t bytes,
                   weft_device_error* error) {
  if (toy->on_copy) return toy->on_copy(error);
  std::memcpy(ToyDevice::Reveal(to), from, static_cast<size_t>(bytes));
  return WEFT_OK;
}
weft_status CopyOut(weft_device*, weft_stream*, void* to, const void* from, int64_t bytes,
                    weft_device_error* error) {
  if (toy->on_copy) return toy->on_copy(error);
  std::memcpy(to, ToyDevice::Reveal(from), static_cast<size_t>(bytes));
  return WEFT_OK;
}
weft_status DoFind(weft_device*, const weft_call* call, weft_code** code, int64_t* scratch,
                   weft_device_error*) {
  toy->saw_plan = toy->saw_plan || call->plan != nullptr;
  return toy->on_find ? toy->on_find(*call, code, scratch) : toy->Find(*call, code);
}
weft_status DoLaunch(weft_device*, weft_stream*, weft_code* code, const weft_launch* launch,
                     weft_device_error* error) {
  ++toy->launches;
  return toy->on_launch ? toy->on_launch(*launch, error) : toy->Launch(code, *launch, error);
}
void Release(weft_device*, weft_code* code) {
  --toy->live;
  delete code;
}
weft_status CompilePlan(weft_device*, const char* text, weft_plan** plan, weft_device_error*) {
  toy->plan_text = text;
  ++toy->live;
  *plan = new weft_plan;
  return WEFT_OK;
}
void ReleasePlan(weft_device*, weft_plan* plan) {
  --toy->live;
  delete plan;
}

}  // namespace

ToyDevice::ToyDevice() {
  toy = this;
  api.struct_size = sizeof api;
  api.abi = WEFT_DEVICE_ABI;
  api.name = "toy";
  api.target = "target toy {}";
  api.passes = "default";
  api.open = Open;
  api.close = Close;
  api.allocate = DoAllocate;
  api.deallocate = Deallocate;
  api.copy_in = CopyIn;
  api.copy_out = CopyOut;
  api.find_code = DoFind;
  api.launch = DoLaunch;
  api.release_code = Release;
  api.compile_plan = CompilePlan;
  api.release_plan = ReleasePlan;
}

ToyDevice::~ToyDevice() { toy = nullptr; }

char* ToyDevice::Reveal(const void* address) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(address) & ~kHidden);
}

weft_status ToyDevice::Allocate(int64_t bytes, void** memory) {
  const size_t size = static_cast<size_t>((bytes + 63) / 64 * 64);
  void* made = std::aligned_alloc(64, size);
  std::memset(made, kPoison, size);
  ++live;
  *memory = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(made) | kHidden);
  return WEFT_OK;
}

weft_status ToyDevice::Find(const weft_call& call, weft_code** code) {
  if (call.kernel == 0) return WEFT_UNIMPLEMENTED;
  ++live;
  *code = new weft_code{call.kernel, {}};
  for (int i = 0; i < call.num_args; ++i) {
    (*code)->sizes.push_back(call.args[i].bytes_before + call.args[i].bytes_after);
  }
  for (int i = 0; i < call.num_results; ++i) {
    (*code)->sizes.push_back(call.results[i].bytes_before + call.results[i].bytes_after);
  }
  return WEFT_OK;
}

weft_status ToyDevice::Launch(weft_code* code, const weft_launch& launch,
                              weft_device_error* error) {
  std::vector<void*> memory;
  for (int i = 0; i < launch.count; ++i) memory.push_back(Reveal(launch.memory[i]));
  return host->interpret(code->kernel, memory.data(), code->sizes.data(), launch.count, error);
}

}  // namespace weft::plugin
