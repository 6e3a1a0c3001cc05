// Kernels as C++, compiled and run, against loops written out here. Each case runs for every
// instruction set that this machine has, whole and divided.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cpu/emit/emitted_kernel.h"

namespace weft::cpu {
namespace {

Kernel SoftmaxKernel() {
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, true}};
  Nest nest;
  nest.outer = {kRows};
  nest.inner = {kCols};
  nest.rows = {DType::kF32};
  nest.stages.resize(3);
  Body largest(&nest.stages[0]);
  nest.stages[0].reductions = {{ReduceOp::kMaximum, largest.Load(0, {kCols, 1}), DType::kF32}};
  Body sum(&nest.stages[1]);
  const int shifted = sum.Op(ScalarOp::kSub, DType::kF32, sum.Load(0, {kCols, 1}),
                             sum.Numbered(ScalarOp::kReduced, DType::kF32, 0));
  const int power = sum.Op(ScalarOp::kExp, DType::kF32, shifted);
  nest.stages[1].keeps = {{power, 0}};
  nest.stages[1].reductions = {{ReduceOp::kSum, power, DType::kF32}};
  Body divide(&nest.stages[2]);
  const int row = divide.Numbered(ScalarOp::kRow, DType::kF32, 0);
  const int total = divide.Numbered(ScalarOp::kReduced, DType::kF32, 1);
  divide.Store(divide.Op(ScalarOp::kDiv, DType::kF32, row, total), 1, {kCols, 1});
  kernel.nests = {nest};
  return kernel;
}

TEST(EmittedKernels, Softmax) {
  for (int64_t cols : {1, 15, 64, 197}) {
    const int64_t rows = 7;
    auto x = Wave(rows * cols);
    std::vector<float> y(rows * cols);
    RunKernel(SoftmaxKernel(), {x.data(), y.data()}, rows, cols, [&] {
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < cols; ++j) sum += std::exp(double{x[i * cols + j]});
        for (int64_t j = 0; j < cols; ++j) {
          ASSERT_NEAR(y[i * cols + j], std::exp(double{x[i * cols + j]}) / sum, 1e-6);
        }
      }
      std::fill(y.begin(), y.end(), -1.0f);
    });
  }
}

TEST(EmittedKernels, RefusesSchedulesThatDoNotFit) {
  Kernel kernel = SoftmaxKernel();
  const Kernel* one = &kernel;
  const auto emit = [&] { return EmitCc(absl::MakeConstSpan(&one, 1), CcTarget()).status(); };
  EXPECT_EQ(emit().code(), absl::StatusCode::kInvalidArgument);
  kernel.schedule = DecideSchedule(kernel, Target());
  EXPECT_TRUE(emit().ok());
  kernel.schedule.nests[0].lane_loop = 2;
  EXPECT_EQ(emit().code(), absl::StatusCode::kInvalidArgument);
  kernel.schedule = DecideSchedule(kernel, Target());
  Kernel wide = kernel;
  wide.schedule.lanes = 2;
  const Kernel* both[] = {&kernel, &wide};
  EXPECT_EQ(EmitCc(both, CcTarget()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EmittedKernels, ColumnsOfBfloatsAndWhereTheLargestStands) {
  Kernel kernel;
  kernel.args = {{DType::kBF16, false}, {DType::kF32, true}, {DType::kI64, true}};
  Nest nest;
  nest.outer = {kCols};
  nest.inner = {kRows};
  nest.stages.resize(2);
  Body body(&nest.stages[0]);
  const int x = body.Load(0, {1, kCols});
  nest.stages[0].reductions = {{ReduceOp::kSum, x, DType::kF32},
                               {ReduceOp::kArgMax, x, DType::kF32}};
  nest.stages[1].per_row = true;
  Body out(&nest.stages[1]);
  out.Store(out.Numbered(ScalarOp::kReduced, DType::kF32, 0), 1, {1, 0});
  out.Store(out.Numbered(ScalarOp::kReduced, DType::kI64, 1), 2, {1, 0});
  kernel.nests = {nest};

  const int64_t rows = 31, cols = 45;
  std::vector<float> wave = Wave(rows * cols);
  std::vector<uint16_t> in(rows * cols);
  for (int64_t i = 0; i < rows * cols; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &wave[i], 4);
    in[i] = bits >> 16;
    bits &= 0xffff0000;
    std::memcpy(&wave[i], &bits, 4);
  }
  std::vector<float> sums(cols);
  std::vector<int64_t> places(cols);
  RunKernel(kernel, {in.data(), sums.data(), places.data()}, rows, cols, [&] {
    for (int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      int64_t best = 0;
      for (int64_t i = 0; i < rows; ++i) {
        sum += wave[i * cols + j];
        if (wave[i * cols + j] > wave[best * cols + j]) best = i;
      }
      ASSERT_NEAR(sums[j], sum, 1e-4);
      ASSERT_EQ(places[j], best);
    }
  });
}

// Sums of more values than a block takes. They are small integers, so that each order gives one
// sum.
TEST(EmittedKernels, SumsOfManyBlocks) {
  for (bool rows_are_dense : {true, false}) {
    Kernel kernel;
    kernel.args = {{DType::kF32, false}, {DType::kF32, true}};
    Nest nest;
    nest.outer = {kRows};
    nest.inner = {kCols};
    nest.stages.resize(2);
    Body body(&nest.stages[0]);
    const std::vector<SymInt> dense = {kCols, 1};
    const std::vector<SymInt> strided = {1, kRows};
    const int x = body.Load(0, rows_are_dense ? dense : strided);
    nest.stages[0].reductions = {{ReduceOp::kSum, x, DType::kF32}};
    nest.stages[1].per_row = true;
    Body out(&nest.stages[1]);
    out.Store(out.Numbered(ScalarOp::kReduced, DType::kF32, 0), 1, {1, 0});
    kernel.nests = {nest};
    const int64_t rows = 21;
    for (int64_t cols : {64, 4096, 10007}) {
      std::vector<float> in(rows * cols), sums(rows), want(rows);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          const float value = static_cast<float>((i * 31 + j * 7919) % 8);
          in[rows_are_dense ? i * cols + j : i + j * rows] = value;
          want[i] += value;
        }
      }
      RunKernel(kernel, {in.data(), sums.data()}, rows, cols, [&] {
        EXPECT_EQ(sums, want) << cols;
        std::fill(sums.begin(), sums.end(), -1.0f);
      });
    }
  }
}

// Rows of several vectors; the extremes stand in each place in turn.
TEST(EmittedKernels, WhereTheLargestAndTheSmallestStandInLongRows) {
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kI64, true}, {DType::kI64, true}};
  Nest nest;
  nest.outer = {kRows};
  nest.inner = {kCols};
  nest.stages.resize(2);
  Body body(&nest.stages[0]);
  const int x = body.Load(0, {kCols, 1});
  nest.stages[0].reductions = {{ReduceOp::kArgMax, x, DType::kF32},
                               {ReduceOp::kArgMin, x, DType::kF32}};
  nest.stages[1].per_row = true;
  Body out(&nest.stages[1]);
  out.Store(out.Numbered(ScalarOp::kReduced, DType::kI64, 0), 1, {1, 0});
  out.Store(out.Numbered(ScalarOp::kReduced, DType::kI64, 1), 2, {1, 0});
  kernel.nests = {nest};
  const int64_t cols = 149, rows = cols;
  std::vector<float> in = Wave(rows * cols);
  for (int64_t i = 0; i < rows; ++i) {
    in[i * cols + i] = 4;
    in[i * cols + cols - 1 - i] = i == cols - 1 - i ? 4.0f : -4.0f;
  }
  std::vector<int64_t> largest(rows), smallest(rows);
  RunKernel(kernel, {in.data(), largest.data(), smallest.data()}, rows, cols, [&] {
    for (int64_t i = 0; i < rows; ++i) {
      const auto row = in.begin() + i * cols;
      ASSERT_EQ(largest[i], std::max_element(row, row + cols) - row);
      ASSERT_EQ(smallest[i], std::min_element(row, row + cols) - row);
    }
  });
}

// y[i, j] = table[ids[i], j]
Kernel GatherKernel() {
  Kernel kernel;
  kernel.args = {{DType::kI32, false}, {DType::kF32, false}, {DType::kF32, true}};
  Nest nest;
  nest.outer = {kRows, kCols};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  const int id = body.Load(0, {1, 0}, DType::kI32);
  Access access;
  access.arg = 1;
  access.strides = {0, 1};
  access.terms = {{id, kCols, 5}};
  body.Store(body.Load(access), 2, {kCols, 1});
  kernel.nests = {nest};
  return kernel;
}

TEST(EmittedKernels, GatherTakesRowsAndCountsFromTheEnd) {
  const int64_t rows = 6, cols = 21;
  std::vector<int32_t> ids = {0, 4, -1, 2, -5, 3};
  auto table = Wave(5 * cols);
  std::vector<float> y(rows * cols);
  EXPECT_EQ(RunKernel(GatherKernel(), {ids.data(), table.data(), y.data()}, rows, cols,
                      [&] {
                        for (int64_t i = 0; i < rows; ++i) {
                          const int64_t id = ids[i] < 0 ? ids[i] + 5 : ids[i];
                          for (int64_t j = 0; j < cols; ++j) {
                            ASSERT_EQ(y[i * cols + j], table[id * cols + j]);
                          }
                        }
                      }),
            0);
}

TEST(EmittedKernels, GatherReportsAnIndexOutOfBounds) {
  for (int32_t wrong : {5, -6}) {
    std::vector<int32_t> ids = {0, wrong};
    auto table = Wave(5 * 3);
    std::vector<float> y(6);
    EXPECT_EQ(RunKernel(GatherKernel(), {ids.data(), table.data(), y.data()}, 2, 3, [] {}), 1);
  }
}

// y[i, j] = x[i, j - 2] where that exists, else 7.
TEST(EmittedKernels, GuardsKeepLanesFromReading) {
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, true}};
  Nest nest;
  nest.outer = {kRows, kCols + 5};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  Access access;
  access.arg = 0;
  access.otherwise = body.Const(7);
  access.offset = -2;
  access.strides = {kCols, 1};
  access.guards = {{-2, {0, 1}, kCols}};
  body.Store(body.Load(access), 1, {kCols + 5, 1});
  kernel.nests = {nest};
  const int64_t rows = 3, cols = 20, wide = cols + 5;
  auto x = Wave(rows * cols);
  std::vector<float> y(rows * wide);
  RunKernel(kernel, {x.data(), y.data()}, rows, cols, [&] {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const bool inside = j >= 2 && j - 2 < cols;
        ASSERT_EQ(y[i * wide + j], inside ? x[i * cols + j - 2] : 7);
      }
    }
  });
}

// Two independent nests in one launch: y = -x, z = x > 0.
TEST(EmittedKernels, NestsShareALaunch) {
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, true}, {DType::kBool, true}};
  kernel.nests.resize(2);
  for (int n = 0; n < 2; ++n) {
    Nest& nest = kernel.nests[n];
    nest.outer = {n == 0 ? kRows : kCols};
    nest.stages.resize(1);
    Body body(&nest.stages[0]);
    const int x = body.Load(0, {1});
    if (n == 0) {
      body.Store(body.Op(ScalarOp::kNeg, DType::kF32, x), 1, {1});
    } else {
      body.Store(body.Op(ScalarOp::kGt, DType::kBool, x, body.Const(0)), 2, {1});
    }
  }
  const int64_t rows = 37, cols = 50;
  auto x = Wave(cols);
  std::vector<float> y(rows);
  std::vector<uint8_t> z(cols);
  RunKernel(kernel, {x.data(), y.data(), z.data()}, rows, cols, [&] {
    for (int64_t i = 0; i < rows; ++i) ASSERT_EQ(y[i], -x[i]);
    for (int64_t i = 0; i < cols; ++i) ASSERT_EQ(z[i], x[i] > 0);
  });
}

// Parts of a run end within vectors: each belongs to one part.
TEST(EmittedKernels, WholeVectorsRunOnceAtCuts) {
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, true}};
  kernel.nests.resize(1);
  Nest& nest = kernel.nests[0];
  nest.outer = {7, 64};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  // Columns of x, so that the two loops are not one.
  const int sum = body.Op(ScalarOp::kAdd, DType::kF32, body.Load(0, {1, 7}), body.Load(1, {64, 1}));
  body.Store(sum, 1, {64, 1});
  auto x = Wave(7 * 64);
  std::vector<float> y(x.size());
  RunKernel(kernel, {x.data(), y.data()}, 1, 1, [&] {
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 64; ++j) ASSERT_EQ(y[i * 64 + j], x[j * 7 + i]) << i << ", " << j;
    }
    std::fill(y.begin(), y.end(), 0.0f);
  });
}

// Number of prefetches in the code of the kernel.
int CountFetches(Kernel kernel) {
  kernel.schedule = DecideSchedule(kernel, Target());
  const Kernel* one = &kernel;
  const auto unit = EmitCc(absl::MakeConstSpan(&one, 1), {});
  EXPECT_TRUE(unit.ok()) << unit.status();
  int count = 0;
  for (size_t at = 0; (at = unit->text.find("__builtin_prefetch", at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

TEST(EmittedKernels, TheNextRowIsFetchedOnce) {
  Kernel kernel = SoftmaxKernel();
  EXPECT_EQ(CountFetches(kernel), 1);  // Two stages load it.
  // Rows that are gone through once.
  kernel.nests[0].stages.erase(kernel.nests[0].stages.begin() + 1, kernel.nests[0].stages.end());
  EXPECT_EQ(CountFetches(kernel), 0);
}

TEST(EmittedKernels, ManyStreamsAreFetchedAhead) {
  for (int streams : {2, 3, 6}) {
    Kernel kernel;
    kernel.args.resize(streams + 1, {DType::kF32, false});
    kernel.args.back().written = true;
    Nest nest;
    nest.outer = {kRows};
    nest.stages.resize(1);
    Body body(&nest.stages[0]);
    int sum = body.Load(0, {1});
    for (int i = 1; i < streams; ++i) {
      sum = body.Op(ScalarOp::kAdd, DType::kF32, sum, body.Load(i, {1}));
    }
    body.Store(sum, streams, {1});
    kernel.nests = {nest};
    EXPECT_EQ(CountFetches(kernel), streams < 3 ? 0 : std::min(streams, 4));
  }
}

// Nests that together are a small part of the elements.
TEST(EmittedKernels, FewElementsAreOptimisedForSize) {
  struct Case {
    std::vector<SymInt> sizes;
    int cold;
  };
  for (const Case& c : {Case{{10, 1000, 100000}, 2},
                        {{1000, 100, 100000}, 2},
                        {{10, 1000, 10000}, 1},
                        {{1000, 1001, 1002, 100000}, 3},
                        {{1100, 1101, 1102, 100000}, 2},
                        {{64, 64, 64}, 0},
                        {{kRows, kCols, 10}, 0}}) {
    Kernel kernel;
    kernel.args = {{DType::kF32, false}, {DType::kF32, true}};
    for (const SymInt size : c.sizes) {
      Nest& nest = kernel.nests.emplace_back();
      nest.outer = {size};
      nest.stages.resize(1);
      Body body(&nest.stages[0]);
      body.Store(body.Op(ScalarOp::kNeg, DType::kF32, body.Load(0, {1})), 1, {1});
    }
    kernel.schedule = DecideSchedule(kernel, Target());
    const Kernel* one = &kernel;
    const auto unit = EmitCc(absl::MakeConstSpan(&one, 1), CcTarget());
    ASSERT_TRUE(unit.ok()) << unit.status();
    int cold = 0;
    for (size_t at = 0; (at = unit->text.find(", cold)", at)) != std::string::npos; ++at) ++cold;
    EXPECT_EQ(cold, c.cold) << c.sizes.size() << " nests, the first of " << c.sizes[0].ToString();
  }
}

TEST(EmittedKernels, WhatHasNoTypeInCodeIsRefused) {
  Kernel kernel;
  kernel.name = "packed";
  kernel.args = {{DType::kI4, false}};
  const Kernel* one = &kernel;
  const auto unit = EmitCc(absl::MakeConstSpan(&one, 1), {});
  EXPECT_EQ(unit.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(unit.status().message()), ::testing::HasSubstr("packed"));
}

}  // namespace
}  // namespace weft::cpu
