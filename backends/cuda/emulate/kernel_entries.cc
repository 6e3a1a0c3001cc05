// The driver's functions about kernels, and the emulation's own functions.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/emulate/block_runner.h"
#include "backends/cuda/emulate/entries.h"
#include "backends/cuda/emulate/image.h"
#include "backends/cuda/emulate/launches.h"
#include "backends/cuda/emulate/shadow.h"

namespace weft::cuda {

struct CuFunctionRecord {
  std::string name;
  const emulate::Entry* entry;
  unsigned dynamic_bytes;  // Most that a launch may have.
};

struct CuModuleRecord {
  void* library = nullptr;
  std::map<std::string, std::unique_ptr<CuFunctionRecord>> functions;
};

}  // namespace weft::cuda

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::BlockRunner;
using weft::cuda::emulate::Dim;
using weft::cuda::emulate::Entry;
using weft::cuda::emulate::Field;
using weft::cuda::emulate::FieldKind;
using weft::cuda::emulate::FieldValue;
using weft::cuda::emulate::Launch;
using weft::cuda::emulate::Memory;
using weft::cuda::emulate::Region;
using weft::cuda::emulate::State;
using weft::cuda::emulate::Stream;
using weft::cuda::emulate::Task;

constexpr unsigned kMaxGridYz = 65535;
constexpr unsigned kMaxBytes = 48 << 10;  // Of dynamic shared memory, unless it is set.
constexpr unsigned kMaxParameterBytes = 4096;

// A launch with copies of its parameters.
struct OwnedLaunch {
  Launch launch;
  std::vector<std::vector<char>> values;
};

// Sets the place and the region of a pointer. An address of no memory has an empty region.
void SetPointer(const State& state, int number, FieldValue* field) {
  CuAddress address = 0;
  std::memcpy(&address, field->value, sizeof address);
  Region& region = field->region;
  region.number = number;
  if (address == 0) return;
  field->place = Memory::Reveal(address);
  const bool given = static_cast<size_t>(number) < state.operands.size();
  const State::Operand operand = given ? state.operands[number] : State::Operand{};
  // The first element of an operand without elements may lie behind its memory.
  const Memory::Piece* piece = state.memory.Find(given ? Memory::Hide(operand.begin) : address);
  if (piece == nullptr) return;
  char* const end = piece->host + piece->bytes;
  region.begin = given ? operand.begin : piece->host;
  region.end = given ? std::min(operand.begin + operand.bytes, end) : end;
  region.shadow = piece->shadow.get();
}

bool Overlap(const Region& a, const Region& b) { return a.begin < b.end && b.begin < a.end; }

// Accesses of threads are compared where the kernel writes.
void SetTracked(const Entry& entry, std::vector<FieldValue>* fields) {
  std::vector<Region> written;
  for (size_t i = 0; i < fields->size(); ++i) {
    if (entry.fields[i].kind == FieldKind::kWritten) written.push_back((*fields)[i].region);
  }
  for (FieldValue& field : *fields) {
    field.region.tracked = std::any_of(written.begin(), written.end(), [&](const Region& region) {
      return Overlap(field.region, region);
    });
  }
}

void SetFields(const State& state, const Entry& entry, void** given, OwnedLaunch* owned) {
  for (unsigned i = 0; i < entry.num_parameters; ++i) {
    const char* begin = static_cast<const char*>(given[i]);
    owned->values.emplace_back(begin, begin + entry.bytes[i]);
  }
  int pointers = 0;
  for (unsigned i = 0; i < entry.num_fields; ++i) {
    const Field& field = entry.fields[i];
    FieldValue value;
    value.value = owned->values[field.parameter].data() + field.offset;
    if (field.kind != FieldKind::kValue) SetPointer(state, pointers++, &value);
    owned->launch.fields.push_back(value);
  }
  SetTracked(entry, &owned->launch.fields);
}

unsigned ParameterBytes(const Entry& entry) {
  return std::accumulate(entry.bytes, entry.bytes + entry.num_parameters, 0u);
}

CuResult MakeLaunch(const State& state, const CuKernelNode& kernel, OwnedLaunch* owned) {
  if (kernel.function == nullptr) return kCuInvalidHandle;
  const uint64_t threads = uint64_t{kernel.block_x} * kernel.block_y * kernel.block_z;
  if (threads == 0 || threads > emulate::kMaxThreads || kernel.grid_x == 0 ||
      kernel.grid_x > 0x7fffffffu || kernel.grid_y == 0 || kernel.grid_y > kMaxGridYz ||
      kernel.grid_z == 0 || kernel.grid_z > kMaxGridYz ||
      kernel.shared_bytes > kernel.function->dynamic_bytes || kernel.extra != nullptr) {
    return kCuInvalidValue;
  }
  Launch& launch = owned->launch;
  launch.name = kernel.function->name;
  launch.entry = kernel.function->entry;
  launch.grid = {kernel.grid_x, kernel.grid_y, kernel.grid_z};
  launch.block = {kernel.block_x, kernel.block_y, kernel.block_z};
  launch.dynamic_bytes = kernel.shared_bytes;
  if (ParameterBytes(*launch.entry) > kMaxParameterBytes) return kCuInvalidValue;
  SetFields(state, *launch.entry, kernel.parameters, owned);
  return kCuSuccess;
}

}  // namespace

namespace weft::cuda::emulate {

CuResult MakeKernelTask(State& state, const CuKernelNode& kernel, Task* task) {
  const auto owned = std::make_shared<OwnedLaunch>();
  const CuResult made = MakeLaunch(state, kernel, owned.get());
  state.operands.clear();
  if (made != kCuSuccess) return made;
  const Launch& launch = owned->launch;
  task->name = launch.name;
  task->activity =
      KernelRecord(launch.name, {kernel.grid_x, kernel.grid_y, kernel.grid_z},
                   {kernel.block_x, kernel.block_y, kernel.block_z}, kernel.shared_bytes);
  for (size_t i = 0; i < launch.fields.size(); ++i) {
    const Region& region = launch.fields[i].region;
    const FieldKind field = launch.entry->fields[i].kind;
    if (field == FieldKind::kValue || region.begin == region.end) continue;
    task->accesses.push_back({region.begin, region.end, field == FieldKind::kWritten});
  }
  task->run = [owned, &state] {
    const std::string error = BlockRunner::Get().Run(owned->launch);
    if (error.empty()) return kCuSuccess;
    if (state.report.empty()) state.report = error;
    return kCuIllegalAddress;
  };
  return kCuSuccess;
}

}  // namespace weft::cuda::emulate

WEFT_EXPORT CuResult cuModuleLoadData(CuModule* module, const void* image) {
  WEFT_ENTER("cuModuleLoadData");
  void* library = emulate::LoadImage(static_cast<const char*>(image));
  if (library == nullptr) return kCuInvalidImage;
  const auto* size = static_cast<const uint64_t*>(dlsym(library, "weft_host_size"));
  auto* host = static_cast<const emulate::HostCalls**>(dlsym(library, "weft_host"));
  const emulate::HostCalls& calls = BlockRunner::Get().calls();
  if (size == nullptr || host == nullptr || *size != calls.size) {
    dlclose(library);
    return kCuInvalidImage;
  }
  *host = &calls;
  *module = new CuModuleRecord;
  (*module)->library = library;
  return kCuSuccess;
}
WEFT_SAME(cuModuleLoadData, module_load);

WEFT_EXPORT CuResult cuModuleUnload(CuModule module) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuModuleUnload");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  state.Drain(nullptr);
  dlclose(module->library);
  delete module;
  return state.sticky;
}
WEFT_SAME(cuModuleUnload, module_unload);

WEFT_EXPORT CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  WEFT_ENTER("cuModuleGetFunction");
  using MakeEntry = const emulate::Entry* (*)();
  const auto make = reinterpret_cast<MakeEntry>(
      dlsym(module->library, (std::string("weft_entry_") + name).c_str()));
  if (make == nullptr) return kCuNotFound;
  auto& record = module->functions[name];
  if (record == nullptr) record.reset(new CuFunctionRecord{name, make(), kMaxBytes});
  *function = record.get();
  return kCuSuccess;
}
WEFT_SAME(cuModuleGetFunction, module_function);

WEFT_EXPORT CuResult cuFuncGetAttribute(int* value, CuFunctionAttribute attribute, CuFunction) {
  WEFT_ENTER("cuFuncGetAttribute");
  *value = attribute == kCuFunctionRegisters ? emulate::kRegisters : 0;
  return kCuSuccess;
}
WEFT_SAME(cuFuncGetAttribute, function_attribute);

WEFT_EXPORT CuResult cuFuncSetAttribute(CuFunction function, CuFunctionAttribute attribute,
                                        int value) {
  WEFT_ENTER("cuFuncSetAttribute");
  if (attribute != kCuFunctionMaxDynamicSharedBytes || value < 0 ||
      value > emulate::kMaxOptInBytes) {
    return kCuInvalidValue;
  }
  function->dynamic_bytes = static_cast<unsigned>(value);
  return kCuSuccess;
}
WEFT_SAME(cuFuncSetAttribute, set_function_attribute);

WEFT_EXPORT CuResult cuLaunchKernel(CuFunction function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, CuStream stream,
                                    void** parameters, void** extra) {
  WEFT_ENTER("cuLaunchKernel");
  CuKernelNode kernel;
  kernel.function = function;
  kernel.grid_x = grid_x;
  kernel.grid_y = grid_y;
  kernel.grid_z = grid_z;
  kernel.block_x = block_x;
  kernel.block_y = block_y;
  kernel.block_z = block_z;
  kernel.shared_bytes = shared_bytes;
  kernel.parameters = parameters;
  kernel.extra = extra;
  Task task;
  const CuResult made = emulate::MakeKernelTask(state, kernel, &task);
  if (made != kCuSuccess) return made;
  ++state.launches;
  return state.Submit(stream, std::move(task));
}
WEFT_SAME(cuLaunchKernel, launch);

// --- The emulation's own -------------------------------------------------------------------

WEFT_EXPORT void weftEmulateOperands(const CuAddress* begins, const size_t* bytes, unsigned count) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.operands.clear();
  for (unsigned i = 0; i < count; ++i) {
    state.operands.push_back({Memory::Reveal(begins[i]), bytes[i]});
  }
}

WEFT_EXPORT void weftEmulateForget(CuStream stream, CuAddress address, size_t bytes) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  Stream* found = state.FindStream(stream);
  char* const host = state.memory.Range(address, bytes);
  if (found == nullptr || host == nullptr) return;
  Stream::Work work;
  work.run = [host, bytes, shadow = state.memory.Find(address)->shadow.get()] {
    std::memset(host, emulate::kPoison, bytes);
    shadow->SetWritten(host, bytes, false);
    return kCuSuccess;
  };
  found->queue.push_back(std::move(work));
}

WEFT_EXPORT void weftEmulateForgetNext(CuAddress address, size_t bytes) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  char* const host = state.memory.Range(address, bytes);
  if (host != nullptr) state.forgets.push_back({host, bytes});
}

WEFT_EXPORT const char* weftEmulateReport() {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.shown = std::exchange(state.report, "");
  return state.shown.c_str();
}

WEFT_EXPORT void weftEmulateFailAt(const char* name, unsigned count, CuResult result) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.fail_name = name;
  state.fail_count = count;
  state.fail_result = result;
}

WEFT_EXPORT void weftEmulateSeed(unsigned seed) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.Seed(seed);
  BlockRunner::Get().Seed(seed);
}

WEFT_EXPORT void weftEmulateCompute(int major, int minor) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.compute_major = major;
  state.compute_minor = minor;
}

WEFT_EXPORT void weftEmulateReset() {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.sticky = kCuSuccess;
  state.report.clear();
}

WEFT_EXPORT long weftEmulateCounter(const char* name) {  // NOLINT(runtime/int)
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const std::string counter = name;
  if (counter == "live_bytes") return state.memory.live_bytes();
  if (counter == "launches") return state.launches;
  if (counter == "library_calls") return state.library_calls;
  if (counter == "library_objects") return state.library_objects;
  if (counter == "host_bytes") return state.locked_bytes;
  if (counter == "pools") return state.pools;
  if (counter == "graphs") return state.graphs;
  if (counter == "streams") return static_cast<long>(state.streams.size()) - 1;
  if (counter.compare(0, 6, "calls ") != 0) return -1;
  const auto it = state.calls.find(counter.substr(6));
  return it == state.calls.end() ? 0 : it->second;
}
