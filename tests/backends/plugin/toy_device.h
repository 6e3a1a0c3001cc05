// A device out of tree, in the test's own process: each of its calls can be replaced by a worse
// one.
//
// It has no streams, keeps a count of what it has given away, and gives addresses that are not the
// host's: following one is a fault.
#ifndef WEFT_TESTS_BACKENDS_PLUGIN_TOY_DEVICE_H_
#define WEFT_TESTS_BACKENDS_PLUGIN_TOY_DEVICE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "api/c/device.h"

namespace weft::plugin {

// One at a time: the functions of the interface have no other way to it.
class ToyDevice {
 public:
  ToyDevice();
  ~ToyDevice();
  ToyDevice(const ToyDevice&) = delete;
  ToyDevice& operator=(const ToyDevice&) = delete;

  // To be edited before a backend is made of it. It takes kernels, and neither routines nor copies.
  weft_device_api api = {};

  // Stand in for calls, where they are set.
  std::function<weft_status(void** memory)> on_allocate;
  std::function<weft_status(const weft_call& call, weft_code** code, int64_t* scratch)> on_find;
  std::function<weft_status(const weft_launch& launch, weft_device_error* error)> on_launch;
  std::function<weft_status(weft_device_error* error)> on_copy;

  const weft_host* host = nullptr;  // Given when it was opened.
  int opened = 0;
  int live = 0;  // Pieces of memory, code and plans that have not come back.
  int launches = 0;
  std::string plan_text;
  bool saw_plan = false;  // In a call.

  // Its own behaviour.
  weft_status Allocate(int64_t bytes, void** memory);
  weft_status Find(const weft_call& call, weft_code** code);
  weft_status Launch(weft_code* code, const weft_launch& launch, weft_device_error* error);
  // The memory behind an address; null stays null.
  static char* Reveal(const void* address);
};

}  // namespace weft::plugin

#endif  // WEFT_TESTS_BACKENDS_PLUGIN_TOY_DEVICE_H_
