// examples/device, called as a host calls it: what it says of memory that is used out of bounds.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/c/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/sim.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kBytes = 64;

// Where the last kernel ran: the bytes behind the addresses of its operands.
std::vector<char*>& Shadows() {
  static auto& shadows = *new std::vector<char*>;
  return shadows;
}

// What the kernels do: write a byte, at this distance from the start of operand `operand`.
struct Write {
  bool asked = false;
  int operand = 0;
  int64_t at = 0;
};
Write& KernelWrite() {
  static Write write;
  return write;
}

std::vector<std::string>& Remarks() {
  static auto& remarks = *new std::vector<std::string>;
  return remarks;
}

weft_status Interpret(weft_kernel, void* const* memory, const int64_t*, int32_t count,
                      weft_device_error*) {
  Shadows().clear();
  for (int i = 0; i < count; ++i) Shadows().push_back(static_cast<char*>(memory[i]));
  if (KernelWrite().asked) Shadows()[KernelWrite().operand][KernelWrite().at] = 1;
  return WEFT_OK;
}
void Record(const char*, int32_t, const char*, int64_t, int64_t) {}
void Remark(const char* text) { Remarks().push_back(text); }

class SimZonesTest : public testing::Test {
 protected:
  SimZonesTest() : api_(SimEntries()) {
    const char* values[] = {"", "0"};
    weft_device_error error = {};
    EXPECT_EQ(api_.open(&host_, values, &device_, &error), WEFT_OK) << error.text;
    EXPECT_EQ(api_.stream_create(device_, &stream_, &error), WEFT_OK) << error.text;
    KernelWrite() = {};
    Shadows().clear();
    Remarks().clear();
  }
  ~SimZonesTest() override {
    api_.stream_destroy(device_, stream_);
    api_.close(device_);
  }

  char* Allocate() {
    void* memory = nullptr;
    weft_device_error error = {};
    EXPECT_EQ(api_.allocate(device_, kBytes, 64, &memory, &error), WEFT_OK) << error.text;
    return static_cast<char*>(memory);
  }
  void Free(void* memory) { api_.deallocate(device_, memory); }

  // "ok", or the error of the call, or that of the stream behind "late: ".
  std::string Said(weft_status status, const weft_device_error& error) {
    if (status != WEFT_OK) return error.text;
    weft_device_error late = {};
    launch_ = 0;
    if (api_.stream_synchronize(device_, stream_, &late) == WEFT_OK) return "ok";
    launch_ = late.launch;
    return absl::StrCat("late: ", late.text);
  }
  std::string CopyIn(char* to, int64_t bytes) {
    const std::vector<char> from(bytes + 1);
    weft_device_error error = {};
    const weft_status status = api_.copy_in(device_, stream_, to, from.data(), bytes, &error);
    return Said(status, error);
  }
  std::string CopyOut(char* from, int64_t bytes) {
    std::vector<char> to(bytes + 1);
    weft_device_error error = {};
    const weft_status status = api_.copy_out(device_, stream_, to.data(), from, bytes, &error);
    return Said(status, error);
  }

  // A kernel over tensors, the last of which is its result. It says that it touches these bytes.
  std::string Launch(const std::vector<void*>& memory, int64_t before = 0, int64_t after = kBytes) {
    const int64_t dim = kBytes / 4, stride = 1;
    const weft_device_tensor tensor = {WEFT_TENSOR, WEFT_F32, 1, &dim, &stride, before, after, 0};
    const std::vector<weft_device_tensor> tensors(memory.size(), tensor);
    weft_call call = {};
    call.struct_size = sizeof call;
    call.op = "kernel";
    call.label = "a kernel";
    call.num_args = static_cast<int32_t>(memory.size()) - 1;
    call.num_results = 1;
    call.args = tensors.data();
    call.results = tensors.data();
    call.kernel = 1;
    weft_code* code = nullptr;
    int64_t scratch = 0;
    weft_device_error error = {};
    EXPECT_EQ(api_.find_code(device_, &call, &code, &scratch, &error), WEFT_OK) << error.text;
    weft_launch launch = {};
    launch.struct_size = sizeof launch;
    launch.number = 7;
    launch.count = static_cast<int32_t>(memory.size());
    launch.memory = memory.data();
    const weft_status status = api_.launch(device_, stream_, code, &launch, &error);
    const std::string said = Said(status, error);
    api_.release_code(device_, code);
    return said;
  }

  weft_host host_ = {sizeof(weft_host), WEFT_DEVICE_ABI, 0, Interpret, Record, Remark};
  weft_device_api api_;
  weft_device* device_ = nullptr;
  weft_stream* stream_ = nullptr;
  int64_t launch_ = 0;  // The launch that the last error names.
};

TEST_F(SimZonesTest, RefusesCopiesOutOfBounds) {
  char* memory = Allocate();
  EXPECT_EQ(CopyIn(memory, 64), "ok");
  EXPECT_EQ(CopyOut(memory + 60, 4), "ok");
  EXPECT_EQ(CopyOut(memory + 64, 0), "ok");
  EXPECT_EQ(CopyIn(memory, 65), "bytes 0 to 65 of an allocation of 64 bytes");
  EXPECT_EQ(CopyOut(memory, 65), "bytes 0 to 65 of an allocation of 64 bytes");
  EXPECT_EQ(CopyIn(memory + 8, 57), "bytes 8 to 65 of an allocation of 64 bytes");
  EXPECT_EQ(CopyOut(memory + 70, 1), "bytes 70 to 71 of an allocation of 64 bytes");
  EXPECT_EQ(CopyIn(memory - 1, 1), "memory that sim does not have");
  Free(memory);
  EXPECT_EQ(CopyOut(memory, 1), "memory that sim does not have");
  EXPECT_THAT(Remarks(), IsEmpty());
}

TEST_F(SimZonesTest, RefusesLaunchesOutOfBounds) {
  char* memory = Allocate();
  EXPECT_EQ(Launch({memory}), "ok");
  EXPECT_EQ(Launch({memory + 4}, 4, 60), "ok");
  Shadows().clear();
  EXPECT_EQ(Launch({memory}, 0, 68), "late: bytes 0 to 68 of an allocation of 64 bytes");
  EXPECT_EQ(launch_, 7);
  EXPECT_EQ(Launch({memory}, 4, 60), "late: bytes -4 to 60 of an allocation of 64 bytes");
  EXPECT_EQ(Launch({memory, memory + 4}), "late: bytes 4 to 68 of an allocation of 64 bytes");
  EXPECT_THAT(Shadows(), IsEmpty()) << "the kernel ran";
  Free(memory);
}

// The zones are a page on each side; the one behind begins where the memory ends.
TEST_F(SimZonesTest, NamesTheByteThatALaunchWroteOutOfBounds) {
  for (const int64_t at : {-4096, -1, 64, 4095, 4096, 8191}) {
    SCOPED_TRACE(at);
    for (const int operand : {0, 1}) {
      char* memory[] = {Allocate(), Allocate()};
      KernelWrite() = {true, operand, at};
      EXPECT_EQ(Launch({memory[0], memory[1]}),
                absl::StrCat("late: byte ", at, " of an allocation of 64 bytes was written"));
      EXPECT_EQ(launch_, 7);
      Free(memory[0]);
      Free(memory[1]);
    }
  }
  Remarks().clear();
  char* memory = Allocate();
  for (const int64_t at : {0, 63}) {
    KernelWrite() = {true, 0, at};
    EXPECT_EQ(Launch({memory}), "ok") << at;
  }
  Free(memory);
  EXPECT_THAT(Remarks(), IsEmpty());
}

TEST_F(SimZonesTest, TheNextCopySaysWhatWasWrittenInBetween) {
  const std::string error = "late: byte 64 of an allocation of 64 bytes was written";
  char* memory = Allocate();
  ASSERT_EQ(Launch({memory}), "ok");
  EXPECT_EQ(CopyIn(memory, 4), "ok");
  Shadows()[0][kBytes] = 1;
  EXPECT_EQ(CopyIn(memory, 4), error);
  EXPECT_EQ(CopyOut(memory, 4), error);
  EXPECT_EQ(launch_, 0);
  char* other = Allocate();
  EXPECT_EQ(CopyIn(other, 4), "ok");
  Free(other);
  EXPECT_THAT(Remarks(), IsEmpty());
  Free(memory);
}

TEST_F(SimZonesTest, AFreeSaysWhatWasWrittenSince) {
  char* memory = Allocate();
  ASSERT_EQ(Launch({memory}), "ok");
  Shadows()[0][-1] = 1;
  Free(memory);
  EXPECT_THAT(Remarks(), ElementsAre("byte -1 of an allocation of 64 bytes was written"));
}

}  // namespace
}  // namespace weft
