// Kernels as C++, compiled and run, against loops written out here. Each case
// runs for every instruction set that this machine has, whole and divided.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/kernel_library.h"
#include "gmock/gmock.h"
#include "graph/sym/sym_expr.h"
#include "graph/target/target.h"
#include "gtest/gtest.h"
#include "lowering/schedule_kernel.h"

namespace weft::cpu {
namespace {

const SymInt kRows = SymInt::Symbol("rows");
const SymInt kCols = SymInt::Symbol("cols");

// Writes bodies line by line; each call gives the instruction's number.
class Body {
 public:
  explicit Body(Stage* stage) : stage_(*stage) {}

  int Op(ScalarOp op, DType dtype, int a = -1, int b = -1, int c = -1) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.operands[0] = a;
    instr.operands[1] = b;
    instr.operands[2] = c;
    return Push(instr);
  }
  int Load(int arg, std::vector<SymInt> strides, DType dtype = DType::kF32) {
    Access access;
    access.arg = arg;
    access.strides = std::move(strides);
    return Load(access, dtype);
  }
  int Load(Access access, DType dtype = DType::kF32) {
    Instr instr;
    instr.op = ScalarOp::kLoad;
    instr.dtype = dtype;
    instr.access = std::move(access);
    return Push(instr);
  }
  int Const(double value) {
    Instr instr;
    instr.imm = value;
    return Push(instr);
  }
  int Numbered(ScalarOp op, DType dtype, int number) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.loop = number;
    return Push(instr);
  }
  void Store(int value, int arg, std::vector<SymInt> strides) {
    weft::Store store;
    store.value = value;
    store.access.arg = arg;
    store.access.strides = std::move(strides);
    stage_.stores.push_back(store);
  }

 private:
  int Push(Instr instr) {
    stage_.body.push_back(std::move(instr));
    return static_cast<int>(stage_.body.size()) - 1;
  }
  Stage& stage_;
};

using Fn = int (*)(void* const*, const long*, void*, long, long);

// An instruction set of the code, and the vector_bytes of a target that may be an edited one.
struct Machine {
  CcTarget cc;
  int64_t vector_bytes = 16;
};

std::vector<Machine> Machines() {
  std::vector<Machine> machines(1);
  const bool sleef = LoadSleef();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    machines.push_back({{CcTarget::Isa::kAvx2, sleef}, 32});
    machines.push_back({{CcTarget::Isa::kAvx2, sleef}, 16});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    machines.push_back({{CcTarget::Isa::kAvx512, sleef}, 64});
  }
  return machines;
}

int64_t Value(SymInt s, int64_t rows, int64_t cols) {
  return *Evaluate(
      s, [&](SymInt symbol) -> std::optional<int64_t> { return symbol == kRows ? rows : cols; });
}

// Runs `kernel` on the arguments for each target, in three parts. `check` is
// called after each run; the result is what the kernel returned.
template <typename Check>
int RunKernel(Kernel kernel, const std::vector<void*>& args, int64_t rows, int64_t cols,
              Check check) {
  int bad = 0;
  for (const Machine& machine : Machines()) {
    SCOPED_TRACE(absl::StrCat(machine.vector_bytes, " bytes, ", static_cast<int>(machine.cc.isa)));
    Target target;
    target.vector_bytes = machine.vector_bytes;
    kernel.schedule = DecideSchedule(kernel, target);
    const Kernel* one = &kernel;
    const auto unit = EmitCc(absl::MakeConstSpan(&one, 1), machine.cc);
    EXPECT_TRUE(unit.ok()) << unit.status();
    if (!unit.ok()) return -1;
    JitOptions options;
    options.flags = CcFlags(machine.cc);
    const auto library = KernelLibrary::Create(unit->text, options);
    EXPECT_TRUE(library.ok()) << library.status();
    if (!library.ok()) return -1;
    const CcKernel& info = unit->kernels[0];
    std::vector<long> sizes;
    for (SymInt s : info.sizes) sizes.push_back(Value(s, rows, cols));
    const int64_t points = Value(info.points, rows, cols);
    std::vector<char> scratch(Value(info.scratch_bytes, rows, cols) + 64);
    const auto fn = reinterpret_cast<Fn>((*library)->Find(info.symbol));
    const int64_t cuts[] = {0, points / 3, points - points / 4, points};
    for (int i = 0; i < 3; ++i) {
      bad |= fn(args.data(), sizes.data(), scratch.data(), cuts[i], cuts[i + 1]);
    }
    check();
  }
  return bad;
}

std::vector<float> Wave(int64_t n) {
  std::vector<float> v(n);
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(3 * std::sin(i * 0.37));
  return v;
}

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

struct MathCase {
  ScalarOp op;
  double (*reference)(double);
  float from = 0.05f;  // Inputs are from + 0, 1, 2, ... * step.
  float step = 0.1f;
};

// The functions of the library, near their true values.
TEST(EmittedKernels, Functions) {
  const std::vector<MathCase> cases = {
      {ScalarOp::kExp, std::exp},
      {ScalarOp::kLog, std::log},
      {ScalarOp::kExp, std::exp, -110, 3.7f},
      {ScalarOp::kErf, std::erf, -5, 0.19f},
      {ScalarOp::kTanh, std::tanh, -9, 0.33f},
      {ScalarOp::kTanh, std::tanh},
      {ScalarOp::kErf, std::erf},
      {ScalarOp::kSin, std::sin},
      {ScalarOp::kSqrt, std::sqrt},
      {ScalarOp::kExpm1, std::expm1},
      {ScalarOp::kFloor, std::floor},
      {ScalarOp::kRoundEven, std::nearbyint, -3, 0.25f},
      {ScalarOp::kTrunc, std::trunc, -3, 0.25f},
      {ScalarOp::kSigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
  };
  Kernel kernel;
  kernel.args.resize(2 * cases.size(), {DType::kF32, false});
  const int64_t rows = 53;
  std::vector<std::vector<float>> in(cases.size()), out(cases.size());
  std::vector<void*> args(2 * cases.size());
  Nest nest;
  nest.outer = {kRows};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  for (size_t i = 0; i < cases.size(); ++i) {
    const int result = static_cast<int>(cases.size() + i);
    for (int64_t k = 0; k < rows; ++k) in[i].push_back(cases[i].from + k * cases[i].step);
    out[i].resize(rows);
    args[i] = in[i].data();
    args[result] = out[i].data();
    kernel.args[result].written = true;
    const int x = body.Load(static_cast<int>(i), {1});
    body.Store(body.Op(cases[i].op, DType::kF32, x), result, {1});
  }
  kernel.nests = {nest};
  RunKernel(kernel, args, rows, 0, [&] {
    for (size_t i = 0; i < cases.size(); ++i) {
      for (int64_t k = 0; k < rows; ++k) {
        const double want = cases[i].reference(in[i][k]);
        ASSERT_NEAR(out[i][k], want, 2e-6 * (1 + std::abs(want)))
            << "case " << i << " at " << in[i][k];
      }
    }
  });
}

// Divisions by one value for all lanes are made of other instructions, those that are rounded to
// integers of yet others.
void ExpectExactDivision(bool rounds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0.0f,     -0.0f, 1e-45f, -3e-42f, 1e-38f,   1.2e-31f, 0x1p-100f, 0x1.fffffep-101f, 1e30f,
      -3.4e38f, 1.9f,  -7.0f,  1.0f,    0x1p100f, infinity, -infinity, std::nanf("")};
  std::vector<float> x = special;
  uint32_t state = 1;
  while (x.size() < 4000) {
    state = state * 1664525u + 1013904223u;
    float value = 0;
    std::memcpy(&value, &state, sizeof value);
    x.push_back(value);
  }
  // In the middle of two multiples of some divisors.
  for (int i = -4000; i < 4000; ++i) x.push_back(0.5f * static_cast<float>(i));
  std::vector<float> divisors = special;
  for (float d : {3.0f, 0.1f, -0x1.fffffep0f, 0x1p-20f, 0x1.fffffep-21f, 0x1p20f, 1048577.0f, 61.0f,
                  -63.0f, 0x1p-61f, 0x1p61f}) {
    divisors.push_back(d);
  }
  const int64_t rows = static_cast<int64_t>(divisors.size());
  const int64_t cols = static_cast<int64_t>(x.size());
  std::vector<float> out(rows * cols);
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, false}, {DType::kF32, true}};
  Nest nest;
  nest.outer = {kRows, kCols};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  const int value = body.Load(0, {0, 1});
  const int divisor = body.Load(1, {1, 0});
  int result = body.Op(ScalarOp::kDiv, DType::kF32, value, divisor);
  if (rounds) result = body.Op(ScalarOp::kRoundEven, DType::kF32, result);
  body.Store(result, 2, {kCols, 1});
  kernel.nests = {nest};
  RunKernel(kernel, {x.data(), divisors.data(), out.data()}, rows, cols, [&] {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float quotient = x[i % cols] / divisors[i / cols];
      const float want = rounds ? std::nearbyint(quotient) : quotient;
      uint32_t bits[2];
      std::memcpy(&bits[0], &out[i], sizeof(float));
      std::memcpy(&bits[1], &want, sizeof(float));
      if (std::isnan(want) && std::isnan(out[i])) continue;
      ASSERT_EQ(bits[0], bits[1]) << x[i % cols] << " / " << divisors[i / cols];
    }
  });
}
TEST(EmittedKernels, DivisionByOneValueIsExact) { ExpectExactDivision(/*rounds=*/false); }
TEST(EmittedKernels, RoundedDivisionByOneValueIsExact) { ExpectExactDivision(/*rounds=*/true); }

// NaN stays NaN, as either operand and in any lane of a reduction.
TEST(EmittedKernels, LargestAndSmallestKeepWhatIsNoNumber) {
  const int64_t rows = 40;
  const int64_t cols = 37;
  const float nan = std::nanf("");
  std::vector<float> a(rows * cols), b(rows * cols), larger(rows * cols), smaller(rows * cols);
  for (int64_t i = 0; i < rows * cols; ++i) {
    a[i] = static_cast<float>(i * 7919 % 1009) - 500;
    b[i] = static_cast<float>(i * 104729 % 1009) - 500;
  }
  for (int64_t r = 0; r < 37; ++r) (r % 2 == 0 ? a : b)[r * cols + r] = nan;
  a[38 * cols] = -std::numeric_limits<float>::infinity();
  std::vector<float> most(rows), least(rows);
  Kernel kernel;
  kernel.args.resize(6, {DType::kF32, true});
  kernel.args[0].written = kernel.args[1].written = false;
  Nest nest;
  nest.outer = {kRows};
  nest.inner = {kCols};
  nest.stages.resize(2);
  Body body(&nest.stages[0]);
  const int x = body.Load(0, {kCols, 1});
  const int y = body.Load(1, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMaximum, DType::kF32, x, y), 2, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMinimum, DType::kF32, x, y), 3, {kCols, 1});
  nest.stages[0].reductions = {{ReduceOp::kMaximum, x, DType::kF32},
                               {ReduceOp::kMinimum, x, DType::kF32}};
  nest.stages[1].per_row = true;
  Body end(&nest.stages[1]);
  end.Store(end.Numbered(ScalarOp::kReduced, DType::kF32, 0), 4, {1, 0});
  end.Store(end.Numbered(ScalarOp::kReduced, DType::kF32, 1), 5, {1, 0});
  kernel.nests = {nest};
  RunKernel(kernel, {a.data(), b.data(), larger.data(), smaller.data(), most.data(), least.data()},
            rows, cols, [&] {
              for (int64_t i = 0; i < rows * cols; ++i) {
                const bool none = std::isnan(a[i]) || std::isnan(b[i]);
                ASSERT_EQ(std::isnan(larger[i]) && std::isnan(smaller[i]), none) << i;
                if (none) continue;
                ASSERT_EQ(larger[i], std::max(a[i], b[i])) << i;
                ASSERT_EQ(smaller[i], std::min(a[i], b[i])) << i;
              }
              for (int64_t r = 0; r < rows; ++r) {
                const auto begin = a.begin() + r * cols;
                const bool none = r < 37 && r % 2 == 0;
                ASSERT_EQ(std::isnan(most[r]) && std::isnan(least[r]), none) << r;
                if (none) continue;
                ASSERT_EQ(most[r], *std::max_element(begin, begin + cols)) << r;
                ASSERT_EQ(least[r], *std::min_element(begin, begin + cols)) << r;
              }
            });
}

template <typename T>
bool SameNumber(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// larger[i, j], smaller[i, j] and sign[i, j] of the pair (a, b) number i, one pair for all lanes,
// or number j, a pair for each lane.
Kernel PairKernel(DType dtype, bool same) {
  Kernel kernel;
  kernel.args.resize(5, {dtype, true});
  kernel.args[0].written = kernel.args[1].written = false;
  Nest nest;
  nest.outer = {kRows, kCols};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  const std::vector<SymInt> pair = {same ? 1 : 0, same ? 0 : 1};
  const int a = body.Load(0, pair, dtype);
  const int b = body.Load(1, pair, dtype);
  body.Store(body.Op(ScalarOp::kMaximum, dtype, a, b), 2, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMinimum, dtype, a, b), 3, {kCols, 1});
  body.Store(body.Op(ScalarOp::kSign, dtype, a), 4, {kCols, 1});
  kernel.nests = {nest};
  return kernel;
}

template <typename T>
void CheckPairs(DType dtype) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> a, b;
  for (T x : {T{0}, -T{0}, T{1}, T{-2}, kInfinity, -kInfinity, kNan}) {
    for (T y : {T{0}, -T{0}, T{1}, T{-2}, kInfinity, -kInfinity, kNan}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const int64_t pairs = static_cast<int64_t>(a.size());
  for (bool same : {true, false}) {
    const int64_t rows = same ? pairs : 2;
    const int64_t cols = same ? 3 : pairs;
    std::vector<T> larger(rows * cols), smaller(rows * cols), sign(rows * cols);
    RunKernel(PairKernel(dtype, same),
              {a.data(), b.data(), larger.data(), smaller.data(), sign.data()}, rows, cols, [&] {
                for (int64_t i = 0; i < rows * cols; ++i) {
                  const int64_t k = same ? i / cols : i % cols;
                  const T x = a[k];
                  const T y = b[k];
                  const bool none = std::isnan(x) || std::isnan(y);
                  const T most = x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
                  const T least = x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
                  EXPECT_TRUE(SameNumber(larger[i], none ? kNan : most)) << x << ", " << y;
                  EXPECT_TRUE(SameNumber(smaller[i], none ? kNan : least)) << x << ", " << y;
                  EXPECT_TRUE(SameNumber(sign[i], static_cast<T>((x > 0) - (x < 0)))) << x;
                }
              });
  }
}

// 0 is larger than -0, NaN is the larger and the smaller one, and its sign is 0.
TEST(EmittedKernels, ExtremaAndSignsOfZerosAndNan) {
  CheckPairs<float>(DType::kF32);
  CheckPairs<double>(DType::kF64);
}

// Numbers that have no place in u64 give what x86's conversion to i64 gives.
TEST(EmittedKernels, FloatsToU64) {
  constexpr uint64_t kLeast = uint64_t{1} << 63;
  const std::vector<std::pair<double, uint64_t>> cases = {
      {0, 0},
      {1.75, 1},
      {0x1p62, uint64_t{1} << 62},
      {0x1p63, kLeast},
      {0x1.8p63, kLeast + (kLeast >> 1)},
      {-0.5, 0},
      {-5, ~uint64_t{0} - 4},
      {0x1p64, kLeast},
      {-0x1p70, kLeast},
      {std::numeric_limits<double>::infinity(), kLeast},
      {std::nan(""), kLeast},
  };
  std::vector<float> narrow;
  std::vector<double> wide;
  for (const auto& [value, want] : cases) {
    narrow.push_back(static_cast<float>(value));
    wide.push_back(value);
  }
  const int64_t count = static_cast<int64_t>(cases.size());
  for (bool same : {true, false}) {
    Kernel kernel;
    kernel.args = {
        {DType::kF32, false}, {DType::kF64, false}, {DType::kU64, true}, {DType::kU64, true}};
    Nest nest;
    nest.outer = {kRows, kCols};
    nest.stages.resize(1);
    Body body(&nest.stages[0]);
    const std::vector<SymInt> from = {same ? 1 : 0, same ? 0 : 1};
    const int x = body.Load(0, from, DType::kF32);
    const int y = body.Load(1, from, DType::kF64);
    body.Store(body.Op(ScalarOp::kConvert, DType::kU64, x), 2, {kCols, 1});
    body.Store(body.Op(ScalarOp::kConvert, DType::kU64, y), 3, {kCols, 1});
    kernel.nests = {nest};
    const int64_t rows = same ? count : 2;
    const int64_t cols = same ? 3 : count;
    std::vector<uint64_t> of_narrow(rows * cols), of_wide(rows * cols);
    RunKernel(kernel, {narrow.data(), wide.data(), of_narrow.data(), of_wide.data()}, rows, cols,
              [&] {
                for (int64_t i = 0; i < rows * cols; ++i) {
                  const auto& [value, want] = cases[same ? i / cols : i % cols];
                  EXPECT_EQ(of_narrow[i], want) << value;
                  EXPECT_EQ(of_wide[i], want) << value;
                }
              });
  }
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
