#include "backends/cpu/interpreter/interpreter.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "backends/cpu/kernels/isa.h"
#include "gmock/gmock.h"
#include "graph/sym/sym_expr.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/schedule_kernel.h"
#include "tests/backends/cpu/interpreter/kernel_builder.h"

namespace weft::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kF32 = DType::kF32;
constexpr DType kI64 = DType::kI64;
const SymInt kS0 = SymInt::Symbol("s0");

class InterpreterTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!ChooseIsa(IsaName(GetParam())).ok()) GTEST_SKIP() << "not on this machine";
    table_ = GetParam() == Isa::kAvx512 ? *Avx512TileTable() : *Avx2TileTable();
  }

  // s0 is `s0`. A kernel without a schedule is scheduled for the instruction set.
  absl::Status Run(Kernel kernel, std::vector<HostTensor> args, int64_t s0 = 1, int threads = 2) {
    Target target;
    target.vector_bytes = GetParam() == Isa::kAvx512 ? 64 : 32;
    if (!kernel.schedule.decided()) kernel.schedule = DecideSchedule(kernel, target);
    auto program = CompileTiles(kernel, table_, [&](SymInt s) {
      return Evaluate(s, [&](SymInt) { return std::optional<int64_t>(s0); });
    });
    if (!program.ok()) return program.status();
    std::unique_ptr<char, void (*)(void*)> workspace(
        static_cast<char*>(std::aligned_alloc(64, program->workspace_bytes * threads)), std::free);
    std::vector<void*> pointers;
    for (HostTensor& t : args) pointers.push_back(t.raw());
    return RunTiles(*program, pointers.data(), workspace.get(), threads);
  }

  TileTable table_ = {};
};

// Element i is a number of moderate size that depends on i.
HostTensor Ramp(DType dtype, std::vector<int64_t> dims) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 37 % 101) - 50) / 8;
  }
  t.WriteDoubles(values);
  return t;
}

TEST_P(InterpreterTest, AddsABroadcastRowAndATransposedMatrix) {
  // y[i, j] = a[j, i] + b[j] * 2
  Kernel kernel = MakeKernel({{kF32}, {kF32}, {kF32, true}}, {kS0, 70}, {}, 1);
  StageBuilder b(&kernel.nests[0].stages[0]);
  const int x = b.Load(kF32, 0, {1, kS0});
  const int two = b.Op(ScalarOp::kMul, kF32, {b.Load(kF32, 1, {0, 1}), b.Const(kF32, 2)});
  b.Store(b.Op(ScalarOp::kAdd, kF32, {x, two}), 2, {70, 1});
  for (int64_t n : {0, 1, 3, 600}) {
    HostTensor a = Ramp(kF32, {70, n});
    HostTensor row = Ramp(kF32, {70});
    HostTensor y(kF32, {n, 70});
    ASSERT_TRUE(Run(kernel, {a, row, y}, n).ok());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < 70; ++j) {
        ASSERT_EQ(y.DoubleAt(i * 70 + j), a.DoubleAt(j * n + i) + 2 * row.DoubleAt(j));
      }
    }
  }
}

// A program of listed kernels may have none of f64.
TEST_P(InterpreterTest, ConstantsAreNotConvertedByKernels) {
  table_.convert = [](DType, DType) -> TileFn { return nullptr; };
  // y[i] = x[i] * 2, z[i] = -3
  Kernel kernel = MakeKernel({{kF32}, {kF32, true}, {kI64, true}}, {kS0}, {}, 1);
  StageBuilder b(&kernel.nests[0].stages[0]);
  b.Store(b.Op(ScalarOp::kMul, kF32, {b.Load(kF32, 0, {1}), b.Const(kF32, 2)}), 1, {1});
  b.Store(b.Const(kI64, -3), 2, {1});
  const HostTensor x = Ramp(kF32, {20});
  HostTensor y(kF32, {20});
  HostTensor z(kI64, {20});
  ASSERT_TRUE(Run(kernel, {x, y, z}, 20).ok());
  for (int64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(y.DoubleAt(i), 2 * x.DoubleAt(i));
    ASSERT_EQ(z.IntAt(i), -3);
  }
}

// Softmax over dim `inner` of [outer, inner] with these strides.
Kernel Softmax(SymInt outer, SymInt inner, SymInt os, SymInt is) {
  Kernel kernel = MakeKernel({{kF32}, {kF32, true}}, {outer}, {inner}, 3, {kF32});
  StageBuilder a(&kernel.nests[0].stages[0]);
  a.Reduce(ReduceOp::kMaximum, a.Load(kF32, 0, {os, is}));
  StageBuilder b(&kernel.nests[0].stages[1]);
  const int x = b.Load(kF32, 0, {os, is});
  const int shifted = b.Op(ScalarOp::kSub, kF32, {x, b.Number(ScalarOp::kReduced, kF32, 0)});
  const int e = b.Op(ScalarOp::kExp, kF32, {shifted});
  b.Keep(e, 0);
  b.Reduce(ReduceOp::kSum, e);
  StageBuilder c(&kernel.nests[0].stages[2]);
  const int kept = c.Number(ScalarOp::kRow, kF32, 0);
  c.Store(c.Op(ScalarOp::kDiv, kF32, {kept, c.Number(ScalarOp::kReduced, kF32, 1)}), 1, {os, is});
  return kernel;
}

void ExpectSoftmax(const HostTensor& x, const HostTensor& y, int64_t outer, int64_t inner,
                   int64_t os, int64_t is) {
  for (int64_t o = 0; o < outer; ++o) {
    double top = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) top = std::max(top, x.DoubleAt(o * os + i * is));
    for (int64_t i = 0; i < inner; ++i) sum += std::exp(x.DoubleAt(o * os + i * is) - top);
    for (int64_t i = 0; i < inner; ++i) {
      const double want = std::exp(x.DoubleAt(o * os + i * is) - top) / sum;
      ASSERT_NEAR(y.DoubleAt(o * os + i * is), want, 2e-6 * want);
    }
  }
}

TEST_P(InterpreterTest, SoftmaxAlongRows) {
  for (int64_t n : {1, 5, 700, 1300}) {
    HostTensor x = Ramp(kF32, {9, n});
    HostTensor y(kF32, {9, n});
    ASSERT_TRUE(Run(Softmax(9, kS0, kS0, 1), {x, y}, n).ok());
    ExpectSoftmax(x, y, 9, n, n, 1);
  }
}

TEST_P(InterpreterTest, SoftmaxAlongColumnsInPlace) {
  for (int64_t n : {1, 6, 530}) {
    HostTensor x = Ramp(kF32, {n, 650});
    HostTensor y = Ramp(kF32, {n, 650});
    ASSERT_TRUE(Run(Softmax(650, kS0, 1, 650), {y, y}, n).ok());
    ExpectSoftmax(x, y, 650, n, 1, 650);
  }
}

TEST_P(InterpreterTest, TakesTheFirstOfEqualExtremaAndNaNFirst) {
  Kernel kernel = MakeKernel({{kF32}, {kI64, true}, {kI64, true}}, {2}, {kS0}, 2);
  StageBuilder a(&kernel.nests[0].stages[0]);
  const int x = a.Load(kF32, 0, {kS0, 1});
  a.Reduce(ReduceOp::kArgMax, x, kI64);
  a.Reduce(ReduceOp::kArgMin, x, kI64);
  kernel.nests[0].stages[1].per_row = true;
  StageBuilder b(&kernel.nests[0].stages[1]);
  b.Store(b.Number(ScalarOp::kReduced, kI64, 0), 1, {1, 0});
  b.Store(b.Number(ScalarOp::kReduced, kI64, 1), 2, {1, 0});
  HostTensor x0 = HostTensor::FromDoubles(
      kF32, {2, 5}, {1, 7, 7, -3, -3, 2, std::numeric_limits<double>::quiet_NaN(), 9, 0, NAN});
  HostTensor largest(kI64, {2});
  HostTensor smallest(kI64, {2});
  ASSERT_TRUE(Run(kernel, {x0, largest, smallest}, 5).ok());
  EXPECT_THAT(largest.ReadInts(), ElementsAre(1, 1));
  EXPECT_THAT(smallest.ReadInts(), ElementsAre(3, 1));
}

TEST_P(InterpreterTest, PadsWhereAGuardShutsOut) {
  // y[j] = 0 <= j - 2 < s0 ? x[j - 2] : -1
  Kernel kernel = MakeKernel({{kF32}, {kF32, true}}, {kS0 + 5}, {}, 1);
  StageBuilder b(&kernel.nests[0].stages[0]);
  const int other = b.Const(kF32, -1);
  const int x = b.Load(kF32, 0, {1}, -2);
  b.instr(x).access.guards.push_back({-2, {1}, kS0});
  b.instr(x).access.otherwise = other;
  b.Store(x, 1, {1});
  HostTensor in = HostTensor::FromDoubles(kF32, {3}, {5, 6, 7});
  HostTensor y(kF32, {8});
  ASSERT_TRUE(Run(kernel, {in, y}, 3).ok());
  EXPECT_THAT(y.ReadDoubles(), ElementsAre(-1, -1, 5, 6, 7, -1, -1, -1));
}

// Counts below 0, or not below the width, leave nothing of `x` but its sign.
int64_t Shifted(int64_t x, int64_t count, int width, bool left) {
  const bool out = count < 0 || count >= width;
  if (left) return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << count);
  return out ? (x < 0 ? -1 : 0) : x >> count;
}

TEST_P(InterpreterTest, ShiftsByTheWidthAndMore) {
  constexpr int64_t kCount = 137;  // Vectors and a rest.
  for (DType dtype : {DType::kI8, DType::kI32, DType::kI64}) {
    Kernel kernel = MakeKernel({{dtype}, {dtype}, {dtype, true}, {dtype, true}}, {kS0}, {}, 1);
    StageBuilder b(&kernel.nests[0].stages[0]);
    const int x = b.Load(dtype, 0, {1});
    const int count = b.Load(dtype, 1, {1});
    b.Store(b.Op(ScalarOp::kShiftLeft, dtype, {x, count}), 2, {1});
    b.Store(b.Op(ScalarOp::kShiftRight, dtype, {x, count}), 3, {1});
    std::vector<int64_t> values, counts, want_left, want_right;
    for (int64_t i = 0; i < kCount; ++i) {
      values.push_back(i % 2 == 0 ? 1 + i % 7 : -1 - i % 7);
      counts.push_back(i * 5 % 103 - 2);
      want_left.push_back(Shifted(values[i], counts[i], DTypeBits(dtype), true));
      want_right.push_back(Shifted(values[i], counts[i], DTypeBits(dtype), false));
    }
    HostTensor left(dtype, {kCount});
    HostTensor right(dtype, {kCount});
    const std::vector<HostTensor> args = {HostTensor::FromInts(dtype, {kCount}, values),
                                          HostTensor::FromInts(dtype, {kCount}, counts), left,
                                          right};
    ASSERT_TRUE(Run(kernel, args, kCount).ok());
    EXPECT_TRUE(left.BitEqual(HostTensor::FromInts(dtype, {kCount}, want_left)));
    EXPECT_TRUE(right.BitEqual(HostTensor::FromInts(dtype, {kCount}, want_right)));
  }
}

Kernel Embedding() {
  Kernel kernel = MakeKernel({{kI64}, {kF32}, {kF32, true}}, {kS0, 3}, {}, 1);
  StageBuilder b(&kernel.nests[0].stages[0]);
  const int i = b.Load(kI64, 0, {1, 0});
  const int x = b.Load(kF32, 1, {0, 1});
  b.instr(x).access.terms.push_back({i, 3, 4});
  b.Store(x, 2, {3, 1});
  return kernel;
}

TEST_P(InterpreterTest, GathersRows) {
  HostTensor table = Ramp(kF32, {4, 3});
  for (int64_t n : {4, 40}) {
    HostTensor index(kI64, {n});
    std::vector<int64_t> values(n);
    for (int64_t i = 0; i < n; ++i) values[i] = i % 8 - 4;
    index.WriteInts(values);
    HostTensor y(kF32, {n, 3});
    ASSERT_TRUE(Run(Embedding(), {index, table, y}, n).ok());
    for (int64_t i = 0; i < 3 * n; ++i) {
      EXPECT_EQ(y.DoubleAt(i), table.DoubleAt(i / 3 % 4 * 3 + i % 3));
    }
  }
}

TEST_P(InterpreterTest, AnIndexOutOfBoundsIsAnError) {
  HostTensor index = HostTensor::FromInts(kI64, {2}, {1, 4});
  HostTensor y(kF32, {2, 3});
  const absl::Status status = Run(Embedding(), {index, Ramp(kF32, {4, 3}), y}, 2);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("@test"));
}

TEST_P(InterpreterTest, NarrowFloatsAreInMemoryAlone) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    Kernel kernel = MakeKernel({{dtype}, {dtype, true}}, {kS0}, {}, 1);
    StageBuilder b(&kernel.nests[0].stages[0]);
    const int x = b.Load(kF32, 0, {1});
    b.Store(b.Op(ScalarOp::kMul, kF32, {x, b.Const(kF32, 1.37)}), 1, {1});
    HostTensor in = Ramp(dtype, {77});
    HostTensor y(dtype, {77});
    HostTensor want(dtype, {77});
    ASSERT_TRUE(Run(kernel, {in, y}, 77).ok());
    std::vector<double> values;
    for (double v : in.ReadDoubles()) {
      values.push_back(static_cast<float>(v) * static_cast<float>(1.37));
    }
    want.WriteDoubles(values);
    EXPECT_TRUE(y.BitEqual(want)) << DTypeName(dtype);
  }
}

TEST_P(InterpreterTest, SumsDoNotDependOnThreads) {
  // Over both dims but the middle one of [3, s0, 1000].
  Kernel kernel = MakeKernel({{kF32}, {kF32, true}}, {kS0}, {3, 1000}, 2);
  StageBuilder a(&kernel.nests[0].stages[0]);
  a.Reduce(ReduceOp::kSum, a.Load(kF32, 0, {1000, SymInt(1000) * kS0, 1}));
  kernel.nests[0].stages[1].per_row = true;
  StageBuilder b(&kernel.nests[0].stages[1]);
  b.Store(b.Number(ScalarOp::kReduced, kF32, 0), 1, {1, 0, 0});
  HostTensor x = Ramp(kF32, {3, 40, 1000});
  HostTensor one(kF32, {40});
  HostTensor two(kF32, {40});
  ASSERT_TRUE(Run(kernel, {x, one}, 40, 1).ok());
  ASSERT_TRUE(Run(kernel, {x, two}, 40, 2).ok());
  EXPECT_TRUE(one.BitEqual(two));
  for (int64_t i = 0; i < 40; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < 3000; ++k) sum += x.DoubleAt(k / 1000 * 40000 + i * 1000 + k % 1000);
    EXPECT_NEAR(one.DoubleAt(i), sum, 1e-3);
  }
}

// The orders of kernel_schedule.h, written out.
float SumOfRow(const std::vector<float>& x, int lanes, int copies, int64_t block) {
  const size_t all = static_cast<size_t>(lanes) * copies;
  std::vector<float> partial(all), sums(all);
  size_t i = 0;
  const auto take = [&](size_t count) {
    for (size_t k = 0; k < count; ++k) partial[k] += x[i + k];
    i += count;
  };
  while (i + all <= x.size()) {
    take(all);
    if (i % block != 0) continue;
    for (size_t k = 0; k < all; ++k) sums[k] += partial[k];
    partial.assign(all, 0);
  }
  while (i + lanes <= x.size()) take(lanes);
  take(x.size() - i);
  for (size_t k = 0; k < all; ++k) partial[k] += sums[k];
  for (size_t k = lanes; k < all; ++k) partial[k % lanes] += partial[k];
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) partial[k] += partial[k + half];
  }
  return partial[0];
}

float SumOfColumn(const std::vector<float>& x, int64_t block) {
  float partial = 0;
  float sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    partial += x[i];
    if ((i + 1) % block != 0) continue;
    sum += partial;
    partial = 0;
  }
  return partial + sum;
}

struct SumSchedule {
  int lanes;
  int copies;
  int64_t tile;
  int64_t block;
};

TEST_P(InterpreterTest, SumsInTheOrderOfTheSchedule) {
  constexpr SumSchedule kSchedules[] = {
      {4, 4, 64, 128}, {8, 1, 512, 4096}, {8, 4, 512, 4096}, {16, 4, 128, 256}, {64, 8, 512, 512}};
  constexpr int64_t kOuter = 5;
  for (int64_t n : {1, 37, 4096, 9001}) {
    std::vector<std::vector<float>> rows(kOuter);
    for (int64_t i = 0; i < kOuter; ++i) {
      for (int64_t j = 0; j < n; ++j) rows[i].push_back(std::sin(static_cast<float>(i * n + j)));
    }
    for (bool dense : {true, false}) {
      HostTensor x(kF32, {kOuter, n});
      for (int64_t i = 0; i < kOuter; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          x.data<float>()[dense ? i * n + j : i + j * kOuter] = rows[i][j];
        }
      }
      for (const SumSchedule& s : kSchedules) {
        Kernel kernel = MakeKernel({{kF32}, {kF32, true}}, {kOuter}, {kS0}, 2);
        StageBuilder a(&kernel.nests[0].stages[0]);
        const SymInt one = 1;
        a.Reduce(ReduceOp::kSum,
                 a.Load(kF32, 0, {dense ? kS0 : one, dense ? one : SymInt(kOuter)}));
        kernel.nests[0].stages[1].per_row = true;
        StageBuilder b(&kernel.nests[0].stages[1]);
        b.Store(b.Number(ScalarOp::kReduced, kF32, 0), 1, {1, 0});
        NestSchedule nest;
        nest.lane_loop = dense ? 1 : 0;
        nest.reduction = dense ? ReductionOrder::kLanes : ReductionOrder::kSerial;
        nest.tile = s.tile;
        nest.block = s.block;
        nest.unroll = {dense ? s.copies : 1, 1};
        kernel.schedule.lanes = s.lanes;
        kernel.schedule.nests = {nest};
        HostTensor y(kF32, {kOuter});
        ASSERT_TRUE(Run(kernel, {x, y}, n).ok());
        for (int64_t i = 0; i < kOuter; ++i) {
          const float want =
              dense ? SumOfRow(rows[i], s.lanes, s.copies, s.block) : SumOfColumn(rows[i], s.block);
          EXPECT_EQ(y.data<float>()[i], want)
              << n << " values, " << s.lanes << " lanes, " << (dense ? "rows" : "columns");
        }
      }
    }
  }
}

TEST_P(InterpreterTest, RefusesSchedulesThatDoNotFit) {
  Kernel kernel = Softmax(9, kS0, kS0, 1);
  kernel.schedule = DecideSchedule(kernel, Target());
  kernel.schedule.nests[0].tile = 48;
  HostTensor x = Ramp(kF32, {9, 5});
  EXPECT_EQ(Run(kernel, {x, x}, 5).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(InterpreterTest, IndicesAreNumbers) {
  // y[i, j] = i * 100 + j, with strides that would join the loops.
  Kernel kernel = MakeKernel({{kI64, true}}, {2, 3}, {}, 1);
  StageBuilder b(&kernel.nests[0].stages[0]);
  const int i = b.Number(ScalarOp::kIndex, kI64, 0);
  const int j = b.Number(ScalarOp::kIndex, kI64, 1);
  const int scaled = b.Op(ScalarOp::kMul, kI64, {i, b.Const(kI64, 100)});
  b.Store(b.Op(ScalarOp::kAdd, kI64, {scaled, j}), 0, {3, 1});
  HostTensor y(kI64, {2, 3});
  ASSERT_TRUE(Run(kernel, {y}).ok());
  EXPECT_THAT(y.ReadInts(), ElementsAre(0, 1, 2, 100, 101, 102));
}

// Whole vectors and a rest.
TEST_P(InterpreterTest, LoadsEverySecondElement) {
  for (const DType dtype : {kF32, DType::kF16, DType::kBF16, kI64, DType::kI32}) {
    SCOPED_TRACE(DTypeName(dtype));
    HostTensor x = Ramp(dtype, {74});
    HostTensor y(dtype, {37});
    Kernel kernel = MakeKernel({{dtype, false}, {dtype, true}}, {37}, {}, 1);
    StageBuilder b(&kernel.nests[0].stages[0]);
    const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    b.Store(b.Load(narrow ? kF32 : dtype, 0, {2}), 1, {1});
    ASSERT_TRUE(Run(kernel, {x, y}).ok());
    const std::vector<double> all = x.ReadDoubles();
    const std::vector<double> got = y.ReadDoubles();
    for (int i = 0; i < 37; ++i) EXPECT_EQ(got[i], all[i * 2]);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, InterpreterTest, testing::Values(Isa::kAvx2, Isa::kAvx512),
                         [](const auto& info) { return std::string(IsaName(info.param)); });

}  // namespace
}  // namespace weft::cpu
