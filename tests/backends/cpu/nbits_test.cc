// Matmuls with weights of 4 or 8 bits in groups: the routine against the formula. Inputs are small
// integers and scales powers of two, so that every order of the sum gives the same numbers.
#include "tests/support/nbits.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/byte_products.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

struct Case {
  const char* name;
  int bits;
  int64_t columns, depth, group;
};

const Case kCases[] = {
    {"one_vector", 4, 8, 32, 32},
    {"odd_columns", 4, 19, 64, 16},
    {"one_column", 4, 1, 256, 256},
    {"cut_group", 4, 33, 100, 32},
    {"cut_word", 4, 21, 67, 16},
    {"group_of_parts_of_words", 4, 20, 70, 10},
    {"large_group", 4, 17, 5, 128},
    {"many_columns", 4, 515, 256, 64},
    {"parts_of_the_depth", 4, 40, 4500, 128},
    // A group that is longer than a part of the depth.
    {"one_group", 4, 24, 5002, 5002},
    {"two_groups", 4, 24, 5000, 3000},
    {"bytes", 8, 19, 64, 16},
    {"bytes_cut_word", 8, 40, 77, 32},
    {"bytes_parts_of_words", 8, 9, 70, 7},
    {"bytes_one_group", 8, 35, 2501, 2501},
    {"bytes_of_a_matrix", 8, 130, 1024, 128},
};

std::string TypeText(const char* dtype, const std::vector<int64_t>& dims) {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

std::vector<int64_t> DimsOf(const HostTensor& t) { return {t.dims().begin(), t.dims().end()}; }

// A program of %x, %w, %s, %z, %b and, if it has a type, %t; `before` makes %a of %x, and `after`
// %r of %y.
struct Program {
  std::string x, operand;
  const char* scale = "f32";
  const char* bias = "f32";
  std::string before, after;
  bool has_bias = false;
  bool constant = true;
};

std::string TextOf(const NbitsMatrix& m, const Program& p) {
  const std::string a = p.before.empty() ? "%x" : "%a";
  const std::string result = p.after.empty() ? "%y" : "%r";
  return absl::StrCat("func @main(%x: ", p.x, ", %w: ", TypeText("u8", DimsOf(m.Weight())),
                      ", %s: ", TypeText(p.scale, {m.columns, m.groups()}),
                      ", %z: ", TypeText(m.floats.empty() ? "u8" : p.scale, DimsOf(m.ZeroPoint())),
                      ", %b: ", TypeText(p.bias, {m.columns}),
                      p.operand.empty() ? "" : absl::StrCat(", %t: ", p.operand), ") {\n", p.before,
                      "\n %y = matmul_nbits(", a, ", %w, %s, ", m.has_zero_points ? "%z" : "none",
                      ", ", p.has_bias ? "%b" : "none", ", group_size=", m.group, ", bits=", m.bits,
                      m.offset ? ", offset=true" : "", ")\n", p.after, "\n return ", result, "\n}");
}

class Runner {
 public:
  Runner(const NbitsMatrix& m, const Program& p, int threads, bool greedy = false) {
    module_ = Parse(TextOf(m, p));
    const DType scale = module_->main()->input(2)->type().dtype();
    const DType bias = module_->main()->input(4)->type().dtype();
    weights_ = {m.Weight(), m.Scale(scale), m.ZeroPoint(scale),
                HostTensor::FromDoubles(bias, {m.columns}, SmallIntegers(m.columns, 9))};
    if (p.constant) {
      for (int i = 0; i < 4; ++i) MakeConstant(*module_->main(), i + 1, weights_[i]);
    }
    CompileOptions compile;
    compile.passes = "fuse_epilogue,dce";
    EXPECT_TRUE(Compile(*module_, compile).ok());
    Target target = CpuTarget();
    for (EpilogueClaim& claim : target.epilogues) {
      if (greedy && !claim.operand_sizes.empty()) {
        claim.operand_sizes.push_back(OperandSizes::kOther);
      }
    }
    auto plan = Lower(*module_->main(), target);
    EXPECT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = threads;
    options.isa = WEFT_TEST_ISA;
    auto executable = Executable::Create(*std::move(plan), options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  HostTensor Run(const HostTensor& x, std::vector<HostTensor> more = {}) {
    std::vector<HostTensor> inputs = InputsOf(x, std::move(more));
    const auto got = executable_->Run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(executable_->stats().fallbacks, 0);
    return got.ok() ? (*got)[0] : HostTensor();
  }
  HostTensor RunReference(const HostTensor& x, std::vector<HostTensor> more = {}) {
    const auto want = reference::Run(*module_->main(), InputsOf(x, std::move(more)));
    EXPECT_TRUE(want.ok()) << want.status();
    return want.ok() ? (*want)[0] : HostTensor();
  }
  CpuStats stats() const { return executable_->stats(); }

 private:
  std::vector<HostTensor> InputsOf(const HostTensor& x, std::vector<HostTensor> more) const {
    std::vector<HostTensor> inputs = {x};
    inputs.insert(inputs.end(), weights_.begin(), weights_.end());
    inputs.insert(inputs.end(), more.begin(), more.end());
    return inputs;
  }

  std::unique_ptr<Module> module_;
  std::vector<HostTensor> weights_;
  std::unique_ptr<Executable> executable_;
};

HostTensor Rows(DType dtype, int64_t rows, int64_t depth, const std::vector<double>& x) {
  return HostTensor::FromDoubles(dtype, {rows, depth}, x);
}

class Nbits : public testing::TestWithParam<Case> {
 protected:
  void ExpectExact(bool zeros, const Program& given, int threads) {
    const Case& c = GetParam();
    ExpectExact(MakeNbits(c.bits, c.columns, c.depth, c.group, zeros), given, threads);
  }
  void ExpectExact(const NbitsMatrix& m, const Program& given, int threads) {
    const Case& c = GetParam();
    Program program = given;
    program.x = absl::StrCat("f32[s0, ", c.depth, "]");
    Runner runner(m, program, threads);
    for (const int64_t rows : {1, 2, 3, 4, 5, 13, 100, 1}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, zero points " << m.has_zero_points << ", "
                                      << threads << " threads");
      const std::vector<double> x = SmallIntegers(rows * c.depth, 3 + rows);
      const std::vector<double> bias =
          program.has_bias ? SmallIntegers(c.columns, 9) : std::vector<double>();
      const HostTensor got = runner.Run(Rows(DType::kF32, rows, c.depth, x));
      EXPECT_EQ(ExactDifference(got, Rows(DType::kF32, rows, c.columns, m.Times(x, bias))), "");
      if (HasFailure()) return;
    }
  }
};

TEST_P(Nbits, IsTheFormula) {
  for (const bool zeros : {false, true}) {
    for (const int threads : {1, 2}) {
      Program program;
      program.has_bias = zeros;
      ExpectExact(zeros, program, threads);
    }
  }
}

// Weights that the caller gives are packed on each run.
TEST_P(Nbits, TakesWeightsOfTheCaller) {
  Program program;
  program.constant = false;
  for (const bool zeros : {false, true}) ExpectExact(zeros, program, 2);
}

// Zero points between two numbers, and offsets.
TEST_P(Nbits, TakesFloats) {
  const Case& c = GetParam();
  for (const bool offset : {false, true}) {
    const NbitsMatrix m = MakeFloatNbits(c.bits, c.columns, c.depth, c.group, offset);
    for (const bool constant : {false, true}) {
      Program program;
      program.constant = constant;
      program.has_bias = offset;
      ExpectExact(m, program, 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Nbits, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Real numbers: an error of some units in the last place of the sum of magnitudes.
TEST(NbitsRounding, IsThatOfF32) {
  for (const int bits : {4, 8}) {
    NbitsMatrix m = MakeNbits(bits, 37, 3000, 32, true);
    NbitsRandom random(4);
    for (double& scale : m.scales) scale = static_cast<float>(random.Next(1, 1000) / 999.0);
    Program program;
    program.x = "f32[s0, 3000]";
    Runner runner(m, program, 2);
    for (const int64_t rows : {1, 4, 30}) {
      std::vector<double> x(rows * 3000);
      for (double& v : x) v = static_cast<float>(random.Next(-999, 999) / 777.0);
      std::vector<double> magnitudes = x;
      for (double& v : magnitudes) v = std::abs(v);
      NbitsMatrix positive = m;
      for (size_t i = 0; i < positive.numbers.size(); ++i) {
        positive.numbers[i] = (1 << bits) - 1;
      }
      positive.zero_points.assign(m.zero_points.size(), 0);
      const std::vector<double> want = m.Times(x, {});
      const std::vector<double> bound = positive.Times(magnitudes, {});
      const std::vector<double> got = runner.Run(Rows(DType::kF32, rows, 3000, x)).ReadDoubles();
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 3e-7 * bound[i]) << i << " of " << rows << " rows";
      }
    }
  }
}

// Numbers that are not finite stay in their row.
TEST(NbitsOfInfinities, StayInTheirRow) {
  const double inf = std::numeric_limits<double>::infinity();
  Program program;
  program.x = "f32[s0, 35]";
  for (const NbitsMatrix& m : {MakeNbits(4, 9, 35, 16, true), MakeFloatNbits(4, 9, 35, 16, true)}) {
    for (const int64_t rows : {2, 9}) {
      Runner runner(m, program, 1);
      std::vector<double> x = SmallIntegers(rows * 35);
      x[35 + 34] = inf;
      x[35 + 3] = std::nan("");
      const HostTensor in = Rows(DType::kF32, rows, 35, x);
      EXPECT_EQ(ExactDifference(runner.Run(in), runner.RunReference(in)), "");
    }
  }
}

// Operands of 16 bits are widened, scales are read as they are.
TEST(NbitsOfNarrowFloats, AreRoundedOnce) {
  for (const char* dtype : {"f16", "bf16"}) {
    for (const char* scale : {"f32", "f16", "bf16"}) {
      SCOPED_TRACE(absl::StrCat(dtype, ", scales of ", scale));
      for (const NbitsMatrix& m :
           {MakeNbits(4, 20, 96, 32, true), MakeFloatNbits(4, 20, 96, 32, true)}) {
        Program program;
        program.x = absl::StrCat(dtype, "[s0, 96]");
        program.scale = scale;
        program.bias = dtype;
        program.has_bias = true;
        program.after = "%r = relu(%y)";
        Runner runner(m, program, 1);
        const DType narrow = dtype[0] == 'b' ? DType::kBF16 : DType::kF16;
        for (const int64_t rows : {1, 6}) {
          const HostTensor x = Rows(narrow, rows, 96, SmallIntegers(rows * 96));
          EXPECT_EQ(ExactDifference(runner.Run(x), runner.RunReference(x)), "");
        }
      }
    }
  }
}

// Rows with gaps, of several dims, and elements in another order.
TEST(NbitsOfViews, AreExact) {
  struct View {
    const char* x;
    const char* before;
    std::vector<int64_t> dims;
  };
  const View views[] = {
      {"f32[48]", "%a = relu(%x)", {48}},
      {"f32[s0, 3, 48]", "%a = relu(%x)", {2, 3, 48}},
      {"f32[s0, 100]", "%a = slice(%x, dim=1, start=7, end=55)", {6, 100}},
      {"f32[48, s0]", "%a = permute(%x, dims=[1, 0])", {48, 5}},
      {"f32[s0, 2, 48]", "%a = permute(%x, dims=[1, 0, 2])", {3, 2, 48}},
  };
  for (const View& view : views) {
    SCOPED_TRACE(view.before);
    Program program;
    program.x = view.x;
    program.before = view.before;
    Runner runner(MakeNbits(4, 21, 48, 16, true), program, 2);
    int64_t count = 1;
    for (const int64_t d : view.dims) count *= d;
    const HostTensor x = HostTensor::FromDoubles(DType::kF32, view.dims, SmallIntegers(count));
    EXPECT_EQ(ExactDifference(runner.Run(x), runner.RunReference(x)), "");
  }
}

// Ops behind the routine, with operands that broadcast in every way, and one whose memory the
// result takes.
TEST(NbitsEpilogues, AreThoseOfTheReference) {
  struct Operand {
    const char* type;
    std::vector<int64_t> dims;  // 0: the rows.
  };
  const Operand operands[] = {{"f32[s0, 21]", {0, 21}}, {"f32[21]", {21}}, {"f32[1, 21]", {1, 21}},
                              {"f32[s0, 1]", {0, 1}},   {"f32[]", {}},     {"f32[1, 1]", {1, 1}}};
  const char* follows[] = {
      "%r = add(%y, %t)",
      "%1 = relu(%y) %r = mul(%1, %t)",
      "%1 = sub(%t, %y) %r = hardtanh(%1, min_val=-5, max_val=6)",
      "%1 = maximum(%y, %t) %2 = minimum(%1, %t) %r = abs(%2)",
      "%u = relu(%t) %1 = add(%y, %u) %r = relu(%1)",
  };
  for (const Operand& operand : operands) {
    for (const char* follow : follows) {
      for (const bool greedy : {false, true}) {
        SCOPED_TRACE(absl::StrCat(operand.type, " ", follow));
        Program program;
        program.x = "f32[s0, 48]";
        program.operand = operand.type;
        program.has_bias = true;
        program.after = follow;
        Runner runner(MakeNbits(4, 21, 48, 16, true), program, 1, greedy);
        for (const int64_t rows : {1, 7}) {
          std::vector<int64_t> sizes = operand.dims;
          if (!sizes.empty() && sizes[0] == 0) sizes[0] = rows;
          int64_t count = 1;
          for (const int64_t d : sizes) count *= d;
          const HostTensor t =
              HostTensor::FromDoubles(DType::kF32, sizes, SmallIntegers(count, 77));
          const HostTensor x = Rows(DType::kF32, rows, 48, SmallIntegers(rows * 48));
          EXPECT_EQ(ExactDifference(runner.Run(x, {t}), runner.RunReference(x, {t})), "");
        }
      }
    }
  }
}

// An infinity times weights is one of their sign; sums of a group alone would not say it.
TEST(NbitsOfInfinities, HaveTheSignOfTheWeight) {
  NbitsMatrix m = MakeFloatNbits(4, 9, 32, 16, true);
  m.floats.assign(m.floats.size(), -8.25);
  Program program;
  program.x = "f32[s0, 32]";
  Runner runner(m, program, 1);
  for (const int64_t rows : {1, 5}) {
    std::vector<double> x = SmallIntegers(rows * 32);
    x[3] = std::numeric_limits<double>::infinity();
    const HostTensor in = Rows(DType::kF32, rows, 32, x);
    const HostTensor got = runner.Run(in);
    EXPECT_TRUE(std::isinf(got.ReadDoubles()[0]));
    EXPECT_EQ(ExactDifference(got, runner.RunReference(in)), "");
  }
}

// Offsets and zero points of the same constants, which share packed weights.
TEST(NbitsWeights, AreOffsetsOrZeroPoints) {
  const NbitsMatrix m = MakeFloatNbits(4, 24, 64, 32, true);
  Program program;
  program.x = "f32[s0, 64]";
  program.after = "%v = matmul_nbits(%x, %w, %s, %z, none, group_size=32) %r = sub(%y, %v)";
  Runner runner(m, program, 1);
  const HostTensor x = Rows(DType::kF32, 1, 64, SmallIntegers(64));
  EXPECT_EQ(ExactDifference(runner.Run(x), runner.RunReference(x)), "");
}

// One packed copy of weights that two steps read.
TEST(NbitsWeights, ArePackedOnce) {
  const NbitsMatrix m = MakeNbits(4, 64, 64, 32, false);
  Program program;
  program.x = "f32[s0, 64]";
  Runner once(m, program, 1);
  program.before = "%v = matmul_nbits(%x, %w, %s, none, none, group_size=32) %a = relu(%v)";
  Runner twice(m, program, 1);
  const HostTensor x = Rows(DType::kF32, 1, 64, SmallIntegers(64));
  once.Run(x);
  twice.Run(x);
  EXPECT_GT(once.stats().packed_bytes, 64 * 64 / 2);
  EXPECT_LT(once.stats().packed_bytes, 64 * 64);
  EXPECT_EQ(twice.stats().packed_bytes, once.stats().packed_bytes);
  // With other scales they are other weights.
  program.before =
      "%u = constant(dense<0.125>) : f32[64, 2]\n"
      "%v = matmul_nbits(%x, %w, %u, none, none, group_size=32) %a = relu(%v)";
  Runner others(m, program, 1);
  EXPECT_EQ(ExactDifference(others.Run(x), others.RunReference(x)), "");
  EXPECT_EQ(others.stats().packed_bytes, 2 * once.stats().packed_bytes);
}

}  // namespace
}  // namespace weft::cpu
