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

// Values between -1 and 1 that repeat late; all integers of 8 bits.
HostTensor Values(int64_t count, DType dtype, int64_t seed) {
  HostTensor t(dtype, {count});
  if (IsInt(dtype)) {
    std::vector<int64_t> values(count);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = (i * 48271 + seed) % 257 % 256 - (dtype == DType::kI8 ? 128 : 0);
    }
    t.WriteInts(values);
    return t;
  }
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
    SCOPED_TRACE(absl::StrCat(DTypeName(kernel.operands.left), " tile ", kernel.tile_m, " x ",
                              kernel.tile_n, " reads ", static_cast<int>(kernel.a), " ",
                              static_cast<int>(kernel.b), " sizes ", m, " ", n, " ", k, " batches ",
                              batches, " splits ", splits));
    const HostTensor a = Values(batches * m * k, kernel.operands.left, 1);
    const bool bytes_product = DTypeBits(kernel.operands.left) == 8;
    const DType c_dtype = bytes_product ? DType::kI32 : kernel.operands.left;
    const DType right = bytes_product ? kernel.operands.right : kernel.operands.left;
    const HostTensor b = Values(batches * n * k, right, 5);
    const HostTensor bias = Values(n, c_dtype, 9);
    const HostTensor a_zero = Values(m, kernel.operands.left, 30);
    const HostTensor b_zero = Values(n, right, 40);
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
    s.has_bias = bytes_product ? 0 : 1;
    s.a_zero_row = 1;
    s.b_zero_column = 1;
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
    const auto module = units_->Find(MatmulUnit(kernel, PlainEpilogue(c_dtype)));
    ASSERT_TRUE(module.ok()) << module.status();
    const int64_t bytes = numel * DTypeBits(c_dtype) / 8;
    const int64_t parts_bytes = numel * splits * (kernel.operands.left == DType::kF64 ? 8 : 4);
    const auto a_memory = Copy(a);
    const auto b_memory = Copy(b);
    const auto bias_memory = Copy(bias);
    const auto a_zero_memory = Copy(a_zero);
    const auto b_zero_memory = Copy(b_zero);
    const auto c_memory = Allocate(bytes);
    const auto parts = Allocate(parts_bytes);
    ASSERT_FALSE(HasFailure());
    std::vector<std::pair<char*, int64_t>> pointers = {
        {a_memory->data(), static_cast<int64_t>(a.bytes())},
        {b_memory->data(), static_cast<int64_t>(b.bytes())},
        {bias_memory->data(), static_cast<int64_t>(bias.bytes())},
        {c_memory->data(), bytes},
        {parts->data(), parts_bytes}};
    if (bytes_product) {
      pointers.push_back({a_zero_memory->data(), static_cast<int64_t>(a_zero.bytes())});
      pointers.push_back({b_zero_memory->data(), static_cast<int64_t>(b_zero.bytes())});
    }
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
    HostTensor c(c_dtype, {numel});
    const absl::Status copied = device_->CopyOut(c.data<char>(), c_memory->data(), bytes);
    ASSERT_TRUE(copied.ok()) << copied;
    const std::vector<double> x = a.ReadDoubles(), y = b.ReadDoubles(), z = bias.ReadDoubles(),
                              got = c.ReadDoubles(), of_rows = a_zero.ReadDoubles(),
                              of_columns = b_zero.ReadDoubles();
    const bool tf32 = kernel.form == MatmulForm::kTf32 && kernel.products == 1;
    const double tolerance = bytes_product                          ? 0
                             : tf32                                 ? 2e-3
                             : kernel.operands.left == DType::kF32  ? 1e-6
                             : kernel.operands.left == DType::kF64  ? 1e-12
                             : kernel.operands.left == DType::kBF16 ? 8e-3
                                                                    : 1e-3;
    for (int64_t i = 0; i < numel; ++i) {
      const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      const double left = kernel.operands.left_zero ? of_rows[row] : 0;
      const double below = kernel.operands.right_zero ? of_columns[column] : 0;
      double want = bytes_product ? 0 : z[column];
      double size = 1;
      for (int64_t d = 0; d < k; ++d) {
        const double term = (x[batch * m * k + row * s.a_row + d * s.a_k] - left) *
                            (y[batch * n * k + column * s.b_column + d * s.b_k] - below);
        want += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(got[i], want,
                  tolerance * (kernel.operands.left == DType::kF32 ? size : 1 + std::abs(want)))
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
    problem.operands.left = dtype;
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
    kernel.operands.left = DType::kBF16;
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
    kernel.operands.left = DType::kF16;
    SetReads(kGroupsK, kGroupsK, &kernel);
    ExpectProduct(kernel, {24, 16, 40, 1, 1});
  }
}

// All four pairs of dtypes, with and without zero points.
TEST_F(CudaMatmulKernels, TilesOfBytes) {
  int turn = 0;
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kTensor, DType::kU8)) {
    const auto next = [&] {
      ++turn;
      kernel.operands.left = turn % 2 != 0 ? DType::kU8 : DType::kI8;
      kernel.operands.right = turn / 2 % 2 != 0 ? DType::kU8 : DType::kI8;
      kernel.operands.left_zero = turn % 3 != 0;
      kernel.operands.right_zero = turn % 5 < 3;
    };
    for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK},
                                    {kGroupsLines, kGroupsLines},
                                    {kOneK, kOneLines},
                                    {kOneLines, kOneK}}) {
      SetReads(a, b, &kernel);
      next();
      ExpectProduct(kernel, {kernel.tile_m + 16, kernel.tile_n + 16, kernel.depth + 16, 1, 1});
      ExpectProduct(kernel, {16, 32, 2 * kernel.depth + 32, 2, 2});
    }
    SetReads(kOneK, kOneK, &kernel);
    kernel.operands.left_zero = kernel.operands.right_zero = true;
    ExpectProduct(kernel, {3, kernel.tile_n + 1, 5, 2, 1});
  }
}

TEST_F(CudaMatmulKernels, TilesOfWgmma) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kWgmma)) {
    kernel.operands.left = DType::kBF16;
    // The emulation has less shared memory.
    while (kernel.shared_bytes() > device_->max_shared_bytes()) --kernel.stages;
    for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK}, {kGroupsLines, kGroupsLines}}) {
      SetReads(a, b, &kernel);
      ExpectProduct(kernel, {kernel.tile_m + 8, kernel.tile_n + 16, kernel.depth + 8, 1, 1});
      ExpectProduct(kernel, {8, 24, 5 * kernel.depth + 16, 2, 2});
    }
    kernel.operands.left = DType::kF16;
    SetReads(kGroupsK, kGroupsLines, &kernel);
    ExpectProduct(kernel, {24, 16, 40, 1, 1});
  }
}

TEST_F(CudaMatmulKernels, PlainTiles) {
  for (MatmulKernel kernel : TiledKernels(MatmulForm::kPlain)) {
    for (const DType dtype : {DType::kF64, DType::kBF16, DType::kU8}) {
      kernel.operands.left = dtype;
      kernel.operands.right = DType::kI8;
      kernel.operands.left_zero = kernel.operands.right_zero = dtype == DType::kU8;
      ExpectProduct(kernel, {65, 66, 35, 2, 1});
      ExpectProduct(kernel, {5, 66, 50, 1, 2});
    }
  }
}

TEST_F(CudaMatmulKernels, FewRows) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI8}) {
    for (const int64_t m : {1, 2, 3}) {
      for (const auto& [a, b] : Reads{{kGroupsK, kGroupsK},
                                      {kOneK, kOneK},
                                      {kOneK, kGroupsLines},
                                      {kOneLines, kOneLines}}) {
        MatmulProblem problem;
        problem.m = m;
        problem.n = 48;
        problem.k = 48;
        problem.operands.left = dtype;
        problem.operands.right = DType::kU8;
        problem.operands.left_zero = problem.operands.right_zero = dtype == DType::kI8;
        problem.a = a;
        problem.b = b;
        const MatmulKernel kernel = ChooseMatmul(problem).kernel;
        ExpectProduct(kernel, {m, 48, 48, 2, 2});
        if (b == kOneK || b == kOneLines) ExpectProduct(kernel, {m, 67, 301, 1, 1});
      }
    }
  }
}

}  // namespace
}  // namespace weft::cuda
