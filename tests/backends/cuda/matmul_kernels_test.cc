// Each matmul kernel that may be chosen, on the emulated driver, whatever sizes it is chosen for:
// every way to read the matrices, tiles in part, batches, parts of k.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/matmul_choice.h"
#include "backends/cuda/routines/matmul_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft::cuda {
namespace {

struct Sizes {
  int64_t m, n, k, batches, splits;
};

// Values between -1 and 1 that repeat late.
HostTensor Values(int64_t count, DType dtype, int64_t seed) {
  HostTensor t(dtype, {count});
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<double>((i * 48271 + seed) % 97 - 48) / 50;
  }
  t.WriteDoubles(values);
  return t;
}

bool AlongK(MatmulRead read) {
  return read == MatmulRead::kOneAlongK || read == MatmulRead::kGroupsAlongK;
}

class CudaMatmulKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto libraries = OpenLibraries("emulated", "");
    ASSERT_TRUE(libraries.ok()) << libraries.status();
    auto opened = CudaDevice::Open(**libraries, 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
    loader_ = std::make_unique<ModuleLoader>(*device_);
    units_ = std::make_unique<UnitCache>(*loader_);
  }

  std::unique_ptr<DeviceMemory> Allocate(int64_t bytes) {
    auto memory = device_->Allocate(bytes, profiler::MemoryCategory::kTemporary);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return memory.ok() ? *std::move(memory) : nullptr;
  }

  std::unique_ptr<DeviceMemory> Copy(const HostTensor& t) {
    std::unique_ptr<DeviceMemory> memory = Allocate(t.bytes());
    if (memory != nullptr) {
      EXPECT_TRUE(device_->CopyIn(memory->data(), t.data<char>(), t.bytes()).ok());
    }
    return memory;
  }

  void Launch(CuFunction function, const LaunchShape& shape,
              std::vector<std::pair<char*, int64_t>> pointers, std::string bytes) {
    std::vector<uint64_t> addresses;
    std::vector<OperandRange> ranges;
    for (const auto& [address, size] : pointers) {
      addresses.push_back(reinterpret_cast<uint64_t>(address));
      ranges.push_back({addresses.back(), size});
    }
    std::vector<void*> parameters;
    for (uint64_t& address : addresses) parameters.push_back(&address);
    parameters.push_back(bytes.data());
    EXPECT_TRUE(
        device_->Launch(function, shape, absl::MakeSpan(parameters), ranges, "matmul").ok());
  }

  void ExpectProduct(const MatmulKernel& kernel, const Sizes& sizes) {
    const auto [m, n, k, batches, splits] = sizes;
    SCOPED_TRACE(absl::StrCat(DTypeName(kernel.dtype), " tile ", kernel.tile_m, " x ",
                              kernel.tile_n, " reads ", static_cast<int>(kernel.a), " ",
                              static_cast<int>(kernel.b), " sizes ", m, " ", n, " ", k, " batches ",
                              batches, " splits ", splits));
    const HostTensor a = Values(batches * m * k, kernel.dtype, 1);
    const HostTensor b = Values(batches * n * k, kernel.dtype, 5);
    const HostTensor bias = Values(n, kernel.dtype, 9);
    const int64_t numel = batches * m * n;
    MatmulSizes s;
    s.m = m;
    s.n = n;
    s.k = k;
    s.a_row = AlongK(kernel.a) ? k : 1;
    s.a_k = AlongK(kernel.a) ? 1 : m;
    s.b_column = AlongK(kernel.b) ? k : 1;
    s.b_k = AlongK(kernel.b) ? 1 : n;
    s.c_row = n;
    s.c_column = 1;
    s.has_bias = 1;
    s.bias_column = 1;
    s.c_groups = n % StoreGroupOf(kernel) == 0;
    const bool few = kernel.form == MatmulForm::kFewRows || kernel.form == MatmulForm::kFewRowsWide;
    const int64_t width = kernel.form == MatmulForm::kFewRowsWide ? 32 * kernel.part_n
                          : few                                   ? kernel.part_n
                                                                  : kernel.tile_n;
    s.down = few ? 1 : (m + kernel.tile_m - 1) / kernel.tile_m;
    s.across = (n + width - 1) / width;
    s.splits = splits;
    s.split_k = ((k + splits - 1) / splits + kernel.depth - 1) / kernel.depth * kernel.depth;
    s.batches = batches;
    s.rank = batches > 1 ? 1 : 0;
    s.dims[0] = batches;
    s.a[0] = m * k;
    s.b[0] = n * k;
    s.c[0] = m * n;
    const auto module = units_->Find(MatmulUnit(kernel, PlainEpilogue(kernel.dtype)));
    ASSERT_TRUE(module.ok()) << module.status();
    const int64_t bytes = numel * DTypeBits(kernel.dtype) / 8;
    const int64_t parts_bytes = numel * splits * (kernel.dtype == DType::kF64 ? 8 : 4);
    const auto a_memory = Copy(a);
    const auto b_memory = Copy(b);
    const auto bias_memory = Copy(bias);
    const auto c_memory = Allocate(bytes);
    const auto parts = Allocate(parts_bytes);
    ASSERT_FALSE(HasFailure());
    const std::vector<std::pair<char*, int64_t>> pointers = {
        {a_memory->data(), static_cast<int64_t>(a.bytes())},
        {b_memory->data(), static_cast<int64_t>(b.bytes())},
        {bias_memory->data(), static_cast<int64_t>(bias.bytes())},
        {c_memory->data(), bytes},
        {parts->data(), parts_bytes}};
    const std::string parameter = BytesOf(s) + BytesOf(MatmulOperand());
    const int64_t blocks = s.down * s.across * batches * splits;
    // Blocks walk over several tiles.
    const auto function = (*module)->Find("weft_matmul");
    ASSERT_TRUE(function.ok()) << function.status();
    LaunchShape shape;
    shape.blocks = static_cast<unsigned>(std::min<int64_t>(blocks, 3));
    shape.threads = static_cast<unsigned>(kernel.threads());
    shape.shared_bytes = static_cast<unsigned>(kernel.shared_bytes());
    ASSERT_TRUE(device_->AllowShared(*function, static_cast<int>(shape.shared_bytes)).ok());
    Launch(*function, shape, pointers, parameter);
    if (splits > 1) Launch(*(*module)->Find("weft_matmul_finish"), {2, 256}, pointers, parameter);
    HostTensor c(kernel.dtype, {numel});
    const absl::Status copied = device_->CopyOut(c.data<char>(), c_memory->data(), bytes);
    ASSERT_TRUE(copied.ok()) << copied;
    const std::vector<double> x = a.ReadDoubles(), y = b.ReadDoubles(), z = bias.ReadDoubles(),
                              got = c.ReadDoubles();
    const bool tf32 = kernel.form == MatmulForm::kTf32 && kernel.products == 1;
    const double tolerance = tf32                           ? 2e-3
                             : kernel.dtype == DType::kF32  ? 1e-6
                             : kernel.dtype == DType::kF64  ? 1e-12
                             : kernel.dtype == DType::kBF16 ? 8e-3
                                                            : 1e-3;
    for (int64_t i = 0; i < numel; ++i) {
      const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      double want = z[column];
      double size = 1;
      for (int64_t d = 0; d < k; ++d) {
        const double term = x[batch * m * k + row * s.a_row + d * s.a_k] *
                            y[batch * n * k + column * s.b_column + d * s.b_k];
        want += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(got[i], want,
                  tolerance * (kernel.dtype == DType::kF32 ? size : 1 + std::abs(want)))
          << "element " << i;
    }
  }

  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<ModuleLoader> loader_;
  std::unique_ptr<UnitCache> units_;
};

constexpr MatmulRead kOneK = MatmulRead::kOneAlongK;
constexpr MatmulRead kOneLines = MatmulRead::kOneAlongLines;
constexpr MatmulRead kGroupsK = MatmulRead::kGroupsAlongK;
constexpr MatmulRead kGroupsLines = MatmulRead::kGroupsAlongLines;
using Reads = std::vector<std::pair<MatmulRead, MatmulRead>>;

TEST(CudaMatmulChoice, DependsOnSizes) {
  const auto choose = [](int64_t m, int64_t n, int64_t k, DType dtype, bool far = false) {
    MatmulProblem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.dtype = dtype;
    problem.tensor_cores = true;
    problem.far = far;
    return ChooseMatmul(problem);
  };
  const MatmulChoice large = choose(4096, 4096, 4096, DType::kF32);
  EXPECT_EQ(large.kernel.form, MatmulForm::kFloat);
  EXPECT_EQ(large.kernel.tile_m, 128);
  EXPECT_EQ(large.splits, 1);
  EXPECT_EQ(large.blocks, 1024);
  // Few tiles: k is divided, in parts that cover it.
  const MatmulChoice few = choose(128, 768, 3072, DType::kF32);
  EXPECT_GT(few.splits, 1);
  EXPECT_GE(few.splits * few.split_k, 3072);
  EXPECT_LT((few.splits - 1) * few.split_k, 3072);
  EXPECT_GE(few.blocks, 100);
  EXPECT_EQ(choose(128, 768, 768, DType::kBF16).kernel.form, MatmulForm::kTensor);
  EXPECT_EQ(choose(128, 768, 768, DType::kBF16, true).kernel.form, MatmulForm::kPlain);
  EXPECT_EQ(choose(128, 768, 768, DType::kF64).kernel.form, MatmulForm::kPlain);
  EXPECT_EQ(choose(2, 768, 768, DType::kF32).kernel.form, MatmulForm::kFewRows);
  EXPECT_EQ(choose(0, 768, 768, DType::kF32).blocks, 0);
  EXPECT_EQ(choose(64, 0, 768, DType::kF32).blocks, 0);
  EXPECT_EQ(choose(64, 64, 0, DType::kF32).splits, 1);
}

TEST_F(CudaMatmulKernels, TilesOfFloats) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kFloat)) {
    for (const auto& [a, b] : Reads{{kOneK, kOneK},
                                    {kGroupsK, kGroupsK},
                                    {kOneLines, kGroupsLines},
                                    {kGroupsLines, kOneLines}}) {
      SetReads(a, b, &kernel);
      ExpectProduct(kernel, {kernel.tile_m + 4, kernel.tile_n + 8, 2 * kernel.depth + 4, 1, 1});
      ExpectProduct(kernel, {12, 20, 40, 2, 2});
    }
    SetReads(kOneK, kOneK, &kernel);
    ExpectProduct(kernel, {kernel.tile_m - 3, kernel.tile_n + 1, kernel.depth - 1, 2, 1});
    ExpectProduct(kernel, {5, 3, 67, 3, 3});
  }
}

TEST_F(CudaMatmulKernels, TilesOfTf32) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTf32)) {
    for (const int products : {1, 3}) {
      kernel.products = products;
      SetReads(kGroupsK, kGroupsLines, &kernel);
      ExpectProduct(kernel, {kernel.tile_m + 4, kernel.tile_n + 8, 2 * kernel.depth + 4, 1, 1});
      ExpectProduct(kernel, {12, 20, 40, 2, 2});
    }
    SetReads(kOneK, kOneLines, &kernel);
    ExpectProduct(kernel, {kernel.tile_m - 3, kernel.tile_n + 1, kernel.depth - 1, 2, 1});
  }
}

TEST_F(CudaMatmulKernels, TilesOnTensorCores) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTensor)) {
    kernel.dtype = DType::kBF16;
    for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK},
                                    {kGroupsLines, kGroupsLines},
                                    {kOneK, kOneLines},
                                    {kOneLines, kOneK}}) {
      SetReads(a, b, &kernel);
      ExpectProduct(kernel, {kernel.tile_m + 8, kernel.tile_n + 16, kernel.depth + 8, 1, 1});
      ExpectProduct(kernel, {8, 24, 2 * kernel.depth + 16, 2, 2});
    }
    SetReads(kOneK, kOneK, &kernel);
    ExpectProduct(kernel, {3, kernel.tile_n + 1, 5, 2, 1});
    kernel.dtype = DType::kF16;
    SetReads(kGroupsK, kGroupsK, &kernel);
    ExpectProduct(kernel, {24, 16, 40, 1, 1});
  }
}

TEST_F(CudaMatmulKernels, TilesOfWgmma) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kWgmma)) {
    kernel.dtype = DType::kBF16;
    // The emulation has less shared memory.
    while (kernel.shared_bytes() > device_->max_shared_bytes()) --kernel.stages;
    for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK}, {kGroupsLines, kGroupsLines}}) {
      SetReads(a, b, &kernel);
      ExpectProduct(kernel, {kernel.tile_m + 8, kernel.tile_n + 16, kernel.depth + 8, 1, 1});
      ExpectProduct(kernel, {8, 24, 5 * kernel.depth + 16, 2, 2});
    }
    kernel.dtype = DType::kF16;
    SetReads(kGroupsK, kGroupsLines, &kernel);
    ExpectProduct(kernel, {24, 16, 40, 1, 1});
  }
}

TEST_F(CudaMatmulKernels, PlainTiles) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kPlain)) {
    for (const DType dtype : {DType::kF64, DType::kBF16}) {
      kernel.dtype = dtype;
      ExpectProduct(kernel, {65, 66, 35, 2, 1});
      ExpectProduct(kernel, {5, 66, 50, 1, 2});
    }
  }
}

TEST_F(CudaMatmulKernels, FewRows) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    for (const int64_t m : {1, 2, 3}) {
      for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK},
                                      {kOneK, kOneK},
                                      {kOneK, kGroupsLines},
                                      {kOneLines, kOneLines}}) {
        MatmulProblem problem;
        problem.m = m;
        problem.n = 40;
        problem.k = 48;
        problem.dtype = dtype;
        problem.a = a;
        problem.b = b;
        const MatmulKernel kernel = ChooseMatmul(problem).kernel;
        ExpectProduct(kernel, {m, 40, 48, 2, 2});
        if (b == kOneK || b == kOneLines) ExpectProduct(kernel, {m, 67, 301, 1, 1});
      }
    }
  }
}

}  // namespace
}  // namespace weft::cuda
