// Shared by the files that define the driver's functions.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_ENTRIES_H_
#define WEFT_BACKENDS_CUDA_EMULATE_ENTRIES_H_

#include <mutex>
#include <type_traits>

#include "backends/cuda/driver/driver_api.h"
#include "backends/cuda/emulate/activities.h"
#include "backends/cuda/emulate/state.h"

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

// Begins a function: locks the state, counts the call, and returns an error that the call has
// before it does anything.
#define WEFT_ENTER(name)                                                     \
  ::weft::cuda::emulate::State& state = ::weft::cuda::emulate::State::Get(); \
  const std::lock_guard<std::mutex> lock(state.mutex);                       \
  const ::weft::cuda::CuResult entered = state.Enter(name);                  \
  if (entered != ::weft::cuda::kCuSuccess) return entered;                   \
  const ::weft::cuda::emulate::CallScope call(name, &state.call)

// The function has the declared type.
#define WEFT_SAME(function, member) \
  static_assert(std::is_same_v<decltype(::weft::cuda::DriverApi::member), decltype(&function)>)

#endif  // WEFT_BACKENDS_CUDA_EMULATE_ENTRIES_H_
