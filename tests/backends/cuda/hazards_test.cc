// The emulation reports what would go wrong on a GPU, or may: each kernel here has one fault.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/prelude.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using testing::HasSubstr;

constexpr int kElements = 64;

// Runs `body` as a kernel of two blocks with 64 threads and 256 bytes of dynamic shared memory.
// `in` and `out` have 64 f32, of which those of `in` are written.
class CudaHazards : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = CudaDevice::Open(Emulated(), 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
  }

  // The message of the error; "" if there is none.
  std::string Report(const std::string& body, unsigned blocks = 2) {
    const std::string text =
        absl::StrCat(Prelude(), "\nW_KERNEL(64) probe(W_IN(f32) in, W_OUT(f32) out) {\n",
                     "const int t = threadIdx.x;\nW_SHARED(f32, s, 64);\n", body, "\n}\n");
    ModuleLoader loader(*device_);
    const auto modules = loader.Load({text});
    EXPECT_TRUE(modules.ok()) << modules.status();
    const auto function = (*modules)[0]->Find("probe");
    EXPECT_TRUE(function.ok()) << function.status();
    constexpr int64_t kBytes = kElements * 4;
    const auto in = *device_->Allocate(kBytes, profiler::MemoryCategory::kTemporary);
    const auto out = *device_->Allocate(kBytes, profiler::MemoryCategory::kTemporary);
    const std::vector<float> values(kElements, 1);
    EXPECT_TRUE(device_->CopyIn(in->data(), values.data(), kBytes).ok());
    uint64_t addresses[] = {reinterpret_cast<uint64_t>(in->data()),
                            reinterpret_cast<uint64_t>(out->data())};
    void* parameters[] = {&addresses[0], &addresses[1]};
    const OperandRange ranges[] = {{addresses[0], kBytes}, {addresses[1], kBytes}};
    EXPECT_TRUE(
        device_->Launch(*function, {blocks, 64, 256}, absl::MakeSpan(parameters), ranges, "probe")
            .ok());
    const absl::Status status = device_->Wait();
    Emulated().emulation.reset();
    return std::string(status.message());
  }

  std::unique_ptr<CudaDevice> device_;
};

TEST_F(CudaHazards, NoneInAKernelThatIsRight) {
  EXPECT_EQ(Report(R"(
    s[t] = w_load(in, t);
    __syncthreads();
    const f32 x = s[63 - t];
    __syncthreads();
    s[t] = x;
    if (blockIdx.x == 0) w_store(out, t, s[t] + w_block_reduce(x, w_add()));
    else w_block_reduce(x, w_add());
  )"),
            "");
}

TEST_F(CudaHazards, DivergentBarriers) {
  EXPECT_THAT(Report("if (t < 10) __syncthreads();"),
              HasSubstr("divergence: it waits at a barrier in line"));
  EXPECT_THAT(Report("if (t < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}"),
              HasSubstr("divergence"));
}

TEST_F(CudaHazards, DivergentShuffles) {
  EXPECT_THAT(Report("if (t % 32 < 16) __shfl_down_sync(~0u, 1.f, 1);"), HasSubstr("divergence"));
  EXPECT_THAT(Report("if (t < 32) w_store(out, t, __shfl_sync(0xffffu, 1.f, 20));"),
              HasSubstr("a warp operation"));
}

TEST_F(CudaHazards, AccessesOutside) {
  EXPECT_THAT(Report("w_store(out, t, w_load(in, t + 1));", 1),
              HasSubstr("an access outside of the memory of pointer 0, element 64"));
  EXPECT_THAT(Report("w_store(out, t - 1, 0.f);", 1),
              HasSubstr("an access outside of the memory of pointer 1, element -1"));
  EXPECT_THAT(Report("s[t + 1] = 0.f;"), HasSubstr("an access outside of shared memory s[64]"));
  EXPECT_THAT(Report("w_keep<f32, 4>(w_rows(w_as<char>(out, 0), true, 0), t + 1, 0.f);"),
              HasSubstr("an access outside of dynamic shared memory"));
}

TEST_F(CudaHazards, OddAddresses) {
  EXPECT_THAT(Report("w_put_group(out, t / 4 + 1, w_pack<f32, 4>());", 1),
              HasSubstr("an access at an odd address of the memory of pointer 1, element"));
}

TEST_F(CudaHazards, ReadsOfUnwrittenMemory) {
  EXPECT_THAT(Report("w_store(out, t, w_load(out, t));", 1),
              HasSubstr("a read of what was not written in the memory of pointer 1"));
  EXPECT_THAT(Report("const f32 x = s[t]; w_store(out, t, x);", 1),
              HasSubstr("a read of shared memory that was not written s["));
  EXPECT_THAT(Report("const f32 x = w_row<f32, 4>(w_rows(w_as<char>(out, 0), true, 0), t);"),
              HasSubstr("a read of what was not written in dynamic shared memory"));
}

// The order of threads decides which of two accesses is found to be wrong.
TEST_F(CudaHazards, MissingBarriers) {
  EXPECT_THAT(Report("s[t] = 0.f; __syncthreads(); s[t] = 1.f; const f32 x = s[63 - t];"),
              HasSubstr("no barrier between a "));
  EXPECT_THAT(Report("s[t / 2] = 1.f;"),
              HasSubstr("no barrier between two writes of shared memory s["));
  EXPECT_THAT(Report("const auto r = w_rows(w_as<char>(out, 0), true, 0);\n"
                     "w_keep<f32, 4>(r, t, 0.f); __syncthreads();\n"
                     "w_keep<f32, 4>(r, t, 1.f); w_row<f32, 4>(r, 63 - t);"),
              HasSubstr("of dynamic shared memory"));
}

TEST_F(CudaHazards, AccessesOfSeveralThreadsToGlobalMemory) {
  EXPECT_THAT(Report("w_store(out, t, 1.f);"),
              HasSubstr("no order between two writes of the memory of pointer 1"));
  EXPECT_THAT(Report("w_store(out, t / 2, 1.f);", 1),
              HasSubstr("no order between two writes of the memory of pointer 1"));
  EXPECT_THAT(Report("if (blockIdx.x == 1) w_store(out, t, 1.f); else w_load(out, t);"),
              HasSubstr("no order between a write and a read of the memory of pointer 1"));
  // A barrier orders the threads of a block.
  EXPECT_EQ(Report("w_store(out, t, 1.f); __syncthreads(); w_load(out, 63 - t);", 1), "");
}

// Runs `body` as a kernel of two blocks with 64 threads, each of which has an entry of a table of
// `size`: `in` and `out` are those of the entry `nest`.
class CudaTableHazards : public CudaHazards {
 protected:
  std::string ReportOfTable(const std::string& body, int size = 8) {
    const std::string text = absl::StrCat(
        Prelude(), "\nW_KERNEL(64) probe(const w_table<", size,
        ", W_IN(f32), W_OUT(f32)> table) {\nconst int t = threadIdx.x, nest = w_nest(table);\n",
        "W_IN(f32) in = w_field<0>(table, nest);\nW_OUT(f32) out = w_field<1>(table, nest);\n",
        body, "\n}\n");
    ModuleLoader loader(*device_);
    const auto modules = loader.Load({text});
    EXPECT_TRUE(modules.ok()) << modules.status();
    const auto function = (*modules)[0]->Find("probe");
    EXPECT_TRUE(function.ok()) << function.status();
    constexpr int64_t kBytes = kElements * 4;
    const std::vector<float> values(kElements, 1);
    std::vector<std::unique_ptr<DeviceMemory>> memory;
    std::vector<OperandRange> ranges;
    std::vector<uint64_t> words;
    for (int i = 0; i < 4; ++i) {
      memory.push_back(*device_->Allocate(kBytes, profiler::MemoryCategory::kTemporary));
      if (i % 2 == 0) {
        EXPECT_TRUE(device_->CopyIn(memory[i]->data(), values.data(), kBytes).ok());
      }
      words.push_back(reinterpret_cast<uint64_t>(memory[i]->data()));
      ranges.push_back({words[i], kBytes, i % 2 != 0});
    }
    words.resize(2 * size);
    // The second nest begins at block 1; both end at 2.
    std::vector<uint32_t> begins(size + 2, 2);
    begins[0] = 0;
    begins[1] = 1;
    for (int i = 0; i <= size; i += 2) words.push_back(begins[i] | uint64_t{begins[i + 1]} << 32);
    void* parameters[] = {words.data()};
    absl::Status status =
        device_->Launch(*function, {2, 64, 0}, absl::MakeSpan(parameters), ranges, "probe");
    if (status.ok()) status = device_->Wait();
    Emulated().emulation.reset();
    return std::string(status.message());
  }
};

TEST_F(CudaTableHazards, NoneInAKernelThatIsRight) {
  EXPECT_EQ(ReportOfTable("w_store(out, t, w_load(in, t));"), "");
}

TEST_F(CudaTableHazards, AccessesOutsideOfAnOperandOfANest) {
  EXPECT_THAT(ReportOfTable("w_store(out, t, w_load(in, t + nest));"),
              HasSubstr("an access outside of the memory of pointer 2, element 64"));
  EXPECT_THAT(ReportOfTable("w_store(out, t + 1 - nest, 0.f);"),
              HasSubstr("an access outside of the memory of pointer 1, element 64"));
  // There is no third nest.
  EXPECT_THAT(ReportOfTable("w_load(w_field<0>(table, 2), t);"),
              HasSubstr("an access outside of the memory of pointer 4"));
}

TEST_F(CudaTableHazards, NestsWithoutOrder) {
  EXPECT_THAT(ReportOfTable("w_store(w_field<1>(table, 0), t, 1.f);"),
              HasSubstr("no order between two writes of the memory of pointer 1"));
  EXPECT_THAT(ReportOfTable("w_load(w_field<1>(table, 1 - nest), t);"),
              HasSubstr("a read of what was not written in the memory of pointer"));
}

// 4,096 bytes are the most that all GPUs take.
TEST_F(CudaTableHazards, ParametersOfTooManyBytes) {
  EXPECT_EQ(ReportOfTable("w_store(out, t, w_load(in, t));", 204), "");
  EXPECT_THAT(ReportOfTable("w_store(out, t, w_load(in, t));", 205), HasSubstr("cuLaunchKernel"));
}

}  // namespace
}  // namespace weft::cuda
