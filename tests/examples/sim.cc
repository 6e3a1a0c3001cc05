#include "tests/examples/sim.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

namespace weft {

std::string SimPath() {
  return (std::filesystem::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") /
          "examples/device/libsim.so")
      .string();
}

weft_device_api SimEntries() {
  void* library = dlopen(SimPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library == nullptr ? nullptr : dlsym(library, "weft_device_entry");
  EXPECT_NE(entry, nullptr);
  return *reinterpret_cast<const weft_device_api* (*)()>(entry)();
}

}  // namespace weft
