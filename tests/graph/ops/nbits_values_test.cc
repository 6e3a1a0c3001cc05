// matmul_nbits against the formula, on weights whose numbers, scales and zero points all differ.
#include <cstdint>
#include <string>
#include <vector>

#include "graph/ops/evaluate.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/nbits.h"

namespace weft {
namespace {

struct Form {
  int bits;
  int64_t columns, depth, group;
};

const Form kForms[] = {
    {4, 3, 32, 16}, {4, 5, 41, 16}, {4, 2, 96, 32}, {4, 1, 7, 16},  {4, 4, 30, 10},
    {8, 3, 32, 16}, {8, 5, 41, 16}, {8, 2, 33, 33}, {8, 4, 35, 11}, {4, 130, 600, 128},
};

TEST(MatmulNbits, IsTheFormula) {
  for (const Form& form : kForms) {
    for (const bool zeros : {false, true}) {
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(testing::Message() << form.bits << " bits, " << form.depth << " in groups of "
                                        << form.group << ", zero points " << zeros);
        const NbitsMatrix m = MakeNbits(form.bits, form.columns, form.depth, form.group, zeros);
        const std::vector<double> x = SmallIntegers(2 * form.depth);
        const std::vector<double> bias = SmallIntegers(has_bias ? form.columns : 0, 9);
        const std::vector<HostTensor> inputs = {
            HostTensor::FromDoubles(DType::kF32, {2, 1, form.depth}, x), m.Weight(), m.Scale(),
            zeros ? m.ZeroPoint() : HostTensor(),
            has_bias ? HostTensor::FromDoubles(DType::kF32, {form.columns}, bias) : HostTensor()};
        const auto got =
            Evaluate(ops::matmul_nbits, ops::MatmulNbitsAttrs(form.group, form.bits), inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ((*got)[0].ReadDoubles(), m.Times(x, bias));
      }
    }
  }
}

TEST(MatmulNbits, TakesFloatZeroPointsAndOffsets) {
  for (const Form& form : kForms) {
    for (const bool offset : {false, true}) {
      SCOPED_TRACE(testing::Message() << form.bits << " bits, " << form.depth << " in groups of "
                                      << form.group << ", offsets " << offset);
      const NbitsMatrix m = MakeFloatNbits(form.bits, form.columns, form.depth, form.group, offset);
      const std::vector<double> x = SmallIntegers(2 * form.depth);
      const std::vector<HostTensor> inputs = {
          HostTensor::FromDoubles(DType::kF32, {2, form.depth}, x), m.Weight(), m.Scale(),
          m.ZeroPoint(), HostTensor()};
      const auto got =
          Evaluate(ops::matmul_nbits, ops::MatmulNbitsAttrs(form.group, form.bits, offset), inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ((*got)[0].ReadDoubles(), m.Times(x, {}));
    }
  }
}

// By hand: the low half of a byte is the first weight, and the low half of a zero point's byte is
// that of the first group.
TEST(MatmulNbits, CountsFromTheLowBits) {
  const HostTensor x = HostTensor::FromDoubles(DType::kF32, {4, 4},
                                               {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const HostTensor weight = HostTensor::FromInts(DType::kU8, {1, 2, 1}, {0x21, 0xF3});
  const HostTensor scale = HostTensor::FromDoubles(DType::kF32, {1, 2}, {1, 100});
  const HostTensor zero = HostTensor::FromInts(DType::kU8, {1, 1}, {0x50});
  const auto run = [&](const HostTensor& zero_point) {
    const std::vector<HostTensor> inputs = {x, weight, scale, zero_point, HostTensor()};
    return (*Evaluate(ops::matmul_nbits, ops::MatmulNbitsAttrs(2), inputs))[0].ReadDoubles();
  };
  EXPECT_EQ(run(zero), (std::vector<double>{1, 2, -200, 1000}));
  EXPECT_EQ(run(HostTensor()), (std::vector<double>{-7, -6, -500, 700}));
}

// The sum of a narrow float is rounded once.
TEST(MatmulNbits, SumsWide) {
  const NbitsMatrix m = MakeNbits(8, 3, 2000, 16, true);
  const std::vector<double> x = SmallIntegers(2000);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::vector<HostTensor> inputs = {HostTensor::FromDoubles(dtype, {2000}, x), m.Weight(),
                                            m.Scale(dtype), m.ZeroPoint(), HostTensor()};
    const auto got = Evaluate(ops::matmul_nbits, ops::MatmulNbitsAttrs(16, 8), inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const HostTensor want = HostTensor::FromDoubles(dtype, {3}, m.Times(x, {}));
    EXPECT_EQ((*got)[0].ReadDoubles(), want.ReadDoubles());
  }
}

}  // namespace
}  // namespace weft
