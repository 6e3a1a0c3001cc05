// Streams and memory of a program that runs Weft, on the emulated driver.
#ifndef WEFT_TESTS_BACKENDS_CUDA_HOST_STREAM_H_
#define WEFT_TESTS_BACKENDS_CUDA_HOST_STREAM_H_

#include <cstdint>
#include <vector>

#include "backends/cuda/driver/libraries.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft::cuda {

// As a program that uses the GPU does first, it holds the primary context.
inline void HoldContext(const DriverApi& driver) {
  CuContext context = nullptr;
  EXPECT_EQ(driver.init(0), kCuSuccess);
  EXPECT_EQ(driver.primary_context_retain(&context, 0), kCuSuccess);
  EXPECT_EQ(driver.context_set_current(context), kCuSuccess);
}

// A stream whose work runs late, and in any order with that of other streams that is legal.
class HostStream {
 public:
  explicit HostStream(const Libraries& libraries) : driver_(libraries.driver) {
    HoldContext(driver_);
    EXPECT_EQ(driver_.stream_create(&stream_, kCuStreamNonBlocking), kCuSuccess);
  }
  ~HostStream() { EXPECT_EQ(driver_.stream_destroy(stream_), kCuSuccess); }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  CuStream get() const { return stream_; }
  void CopyIn(CuAddress to, const HostTensor& from) {
    const auto bytes = static_cast<size_t>(from.bytes());
    EXPECT_EQ(driver_.copy_in(to, from.raw(), bytes, stream_), kCuSuccess);
  }
  void CopyOut(HostTensor* to, const void* from) {
    const auto address = reinterpret_cast<CuAddress>(from);
    const auto bytes = static_cast<size_t>(to->bytes());
    EXPECT_EQ(driver_.copy_out(to->raw(), address, bytes, stream_), kCuSuccess);
  }
  void Synchronize() { EXPECT_EQ(driver_.stream_synchronize(stream_), kCuSuccess); }

 private:
  const DriverApi& driver_;
  CuStream stream_ = nullptr;
};

// Memory of the GPU that belongs to the program.
class HostBlock {
 public:
  HostBlock(const Libraries& libraries, int64_t bytes) : driver_(libraries.driver) {
    HoldContext(driver_);
    EXPECT_EQ(driver_.memory_allocate(&address_, static_cast<size_t>(bytes)), kCuSuccess);
  }
  ~HostBlock() { EXPECT_EQ(driver_.memory_free(address_), kCuSuccess); }
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  CuAddress address() const { return address_; }
  void* data(int64_t offset = 0) const { return reinterpret_cast<char*>(address_) + offset; }

 private:
  const DriverApi& driver_;
  CuAddress address_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_TESTS_BACKENDS_CUDA_HOST_STREAM_H_
