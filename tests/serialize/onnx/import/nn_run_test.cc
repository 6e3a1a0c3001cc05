// Results of imported convolutions, pools and norms: small numbers, computed by hand from the
// operators' definitions. The official cases cover the plain paths; this tests versions and
// attributes that they leave out.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"

namespace weft {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// --- Convolution --------------------------------------------------------------

TEST(NnRunTest, ConvTransposeFillsUpToTheOutputShape) {
  // Windows of 1 at stride 3 cover 4 elements; the rest of 6 is at the end.
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 1, 2] X, float[1, 1, 1] W) => (float[1, 1, 6] Y) {
  Y = ConvTranspose <strides = [3], output_shape = [6]> (X, W)
})",
                            11, {F32({1, 1, 2}, {1, 2}), F32({1, 1, 1}, {10})}),
              ElementsAre(10, 0, 0, 20, 0, 0));
}

TEST(NnRunTest, ConvTransposeSplitsOddPaddingByAutoPad) {
  const std::string model = R"(
g (float[1, 1, 2] X, float[1, 1, 4] W) => (float[1, 1, 2] Y) {
  Y = ConvTranspose <auto_pad = "%"> (X, W)
})";
  const auto run = [&](const std::string& auto_pad) {
    const std::string text = Fill(model, auto_pad);
    return RunOnnxValues(text, 11, {F32({1, 1, 2}, {1, 1}), F32({1, 1, 4}, {1, 10, 100, 1000})});
  };
  // The whole is 1, 11, 110, 1100, 1000.
  EXPECT_THAT(run("SAME_UPPER"), ElementsAre(11, 110));
  EXPECT_THAT(run("SAME_LOWER"), ElementsAre(110, 1100));
}

TEST(NnRunTest, SamePaddingOfSymbolicSizesIsThatOfTheRun) {
  const std::string model = R"(
g (float[1, 1, N] X, float[1, 1, 3] W) => (float[1, 1, M] Y) {
  Y = Conv <strides = [2], auto_pad = "SAME_LOWER"> (X, W)
})";
  const HostTensor w = F32({1, 1, 3}, {100, 10, 1});
  // In sum one element of padding for even sizes, two for odd ones.
  EXPECT_THAT(RunOnnxValues(model, 11, {F32({1, 1, 4}, {1, 2, 3, 4}), w}), ElementsAre(12, 234));
  EXPECT_THAT(RunOnnxValues(model, 11, {F32({1, 1, 5}, {1, 2, 3, 4, 5}), w}),
              ElementsAre(12, 234, 450));
}

TEST(NnRunTest, DeformConvMovesTheKernelByTheOffset) {
  // Half an element to the right; then beyond the end.
  EXPECT_THAT(
      RunOnnxValues(
          R"(
g (float[1, 1, 3] X, float[1, 1, 1] W, float[1, 1, 3] O) => (float[1, 1, 3] Y) {
  Y = DeformConv (X, W, O)
})",
          19, {F32({1, 1, 3}, {1, 2, 4}), F32({1, 1, 1}, {2}), F32({1, 1, 3}, {0.5, 0.5, 0.5})}),
      ElementsAre(3, 6, 4));
}

// --- Pools ---------------------------------------------------------------------

TEST(NnRunTest, MaxPoolIndicesCountInTheWholeTensor) {
  const std::string model = R"(
g (float[2, 1, 2, 3] X) => (float[2, 1, 1, 2] Y, int64[2, 1, 1, 2] I) {
  Y, I = MaxPool <kernel_shape = [2, 2], storage_order = %> (X)
})";
  const auto run = [&](const std::string& order) {
    const std::string text = Fill(model, order);
    const auto outputs = RunOnnx(text, 12, {Counting({2, 1, 2, 3})});
    return outputs.size() == 2 ? outputs[1].ReadInts() : std::vector<int64_t>();
  };
  EXPECT_THAT(run("0"), ElementsAre(4, 5, 10, 11));
  // Element (1, 1) of a plane of 2 x 3 is the fourth by columns.
  EXPECT_THAT(run("1"), ElementsAre(3, 5, 9, 11));
}

TEST(NnRunTest, PoolsPadSymbolicSizes) {
  const std::string model = R"(
g (float[1, 1, N] X) => (float[1, 1, M] Y) {
  Y = % (X)
})";
  const auto run = [&](const std::string& pool, std::vector<double> x) {
    std::string text = model;
    text.replace(text.find('%'), 1,
                 pool.substr(0, pool.find(' ')) +
                     " <kernel_shape = [3], strides = [2], auto_pad = "
                     "\"SAME_UPPER\"" +
                     pool.substr(pool.find(' ')) + ">");
    const auto n = static_cast<int64_t>(x.size());
    return RunOnnxValues(text, 12, {F32({1, 1, n}, std::move(x))});
  };
  EXPECT_THAT(run("MaxPool ", {-5, -3, -4, -6}), ElementsAre(-3, -4));
  EXPECT_THAT(run("MaxPool ", {-5, -3, -4}), ElementsAre(-3, -3));
  EXPECT_THAT(run("AveragePool ", {3, 6, 9, 12}), Near({6, 10.5}));
  EXPECT_THAT(run("AveragePool , count_include_pad = 1", {3, 6, 9, 12}), Near({6, 7}));
  EXPECT_THAT(run("AveragePool ", {3, 6, 9}), Near({4.5, 7.5}));
  EXPECT_THAT(run("LpPool , p = 1", {1, -2, 3}), Near({3, 5}));
}

TEST(NnRunTest, GlobalLpPoolTakesAnyPower) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 2, 3] X) => (float[1, 2, 1] Y) {
  Y = GlobalLpPool <p = 3> (X)
})",
                            13, {F32({1, 2, 3}, {3, -4, 5, 1, 0, 0})}),
              Near({6, 1}));
}

TEST(NnRunTest, MaxUnpoolPutsElementsOfEachPlane) {
  const std::vector<HostTensor> inputs = {F32({2, 1, 2}, {1, 2, 3, 4}),
                                          I64({2, 1, 2}, {1, 2, 4, 7})};
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 1, 2] X, int64[2, 1, 2] I) => (float[2, 1, 4] Y) {
  Y = MaxUnpool <kernel_shape = [2], strides = [2]> (X, I)
})",
                            11, inputs),
              ElementsAre(0, 1, 2, 0, 3, 0, 0, 4));
  // output_shape adds zeros at the end.
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 1, 2] X, int64[2, 1, 2] I) => (float[2, 1, 5] Y) {
  S = Constant <value = int64[3] {2, 1, 5}> ()
  Y = MaxUnpool <kernel_shape = [2], strides = [2]> (X, I, S)
})",
                            11, inputs),
              ElementsAre(0, 1, 2, 0, 0, 3, 0, 0, 4, 0));
}

// --- Norms ------------------------------------------------------------------------

TEST(NnRunTest, BatchNormalizationOfElementsBeforeVersion9) {
  // spatial = 0: each element of [C, D] has its own statistics.
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 1, 2] X, float[1, 2] S, float[1, 2] B, float[1, 2] M, float[1, 2] V)
    => (float[2, 1, 2] Y) {
  Y = BatchNormalization <epsilon = 0.0, spatial = 0> (X, S, B, M, V)
})",
                            7,
                            {F32({2, 1, 2}, {1, 2, 3, 4}), F32({1, 2}, {1, 10}),
                             F32({1, 2}, {0, 5}), F32({1, 2}, {1, 2}), F32({1, 2}, {4, 1})}),
              Near({0, 5, 1, 25}));
}

TEST(NnRunTest, BatchNormalizationOfAVectorHasOneChannel) {
  EXPECT_THAT(
      RunOnnxValues(
          R"(
g (float[3] X, float[1] S, float[1] B, float[1] M, float[1] V) => (float[3] Y) {
  Y = BatchNormalization <epsilon = 0.0> (X, S, B, M, V)
})",
          15, {F32({3}, {1, 2, 3}), F32({1}, {2}), F32({1}, {1}), F32({1}, {1}), F32({1}, {4})}),
      Near({1, 2, 3}));
}

TEST(NnRunTest, GroupNormalizationHasParametersOfGroupsAndThenOfChannels) {
  // Two groups of two channels of one element: normalized to -1 and 1.
  const std::string model = R"(
g (float[1, 4, 1] X, float[K] S, float[K] B) => (float[1, 4, 1] Y) {
  Y = GroupNormalization <epsilon = 0.0, num_groups = 2> (X, S, B)
})";
  const HostTensor x = F32({1, 4, 1}, {1, 3, 10, 20});
  EXPECT_THAT(RunOnnxValues(model, 18, {x, F32({2}, {1, 10}), F32({2}, {0, 5})}),
              Near({-1, 1, -5, 15}));
  EXPECT_THAT(RunOnnxValues(model, 21, {x, F32({4}, {1, 2, 3, 4}), F32({4}, {0, 1, 2, 3})}),
              Near({-1, 3, -1, 7}));
}

TEST(NnRunTest, InstanceNormalizationOfUnknownChannels) {
  EXPECT_THAT(
      RunOnnxValues(R"(
g (float[1, C, 2] X, float[C] S, float[C] B) => (float[1, C, 2] Y) {
  Y = InstanceNormalization <epsilon = 0.0> (X, S, B)
})",
                    6, {F32({1, 2, 2}, {1, 3, 10, 30}), F32({2}, {1, 2}), F32({2}, {0, 1})}),
      Near({-1, 1, -1, 3}));
}

TEST(NnRunTest, LayerNormalizationBroadcastsItsScale) {
  const auto outputs =
      RunOnnx(R"(
g (float[2, 2] X, float[1] S, float[2, 1] B)
    => (float[2, 2] Y, float[2, 1] M, float[2, 1] D) {
  Y, M, D = LayerNormalization <epsilon = 0.0> (X, S, B)
})",
              17, {F32({2, 2}, {1, 3, 10, 30}), F32({1}, {2}), F32({2, 1}, {1, 5})});
  ASSERT_EQ(outputs.size(), 3);
  EXPECT_THAT(outputs[0].ReadDoubles(), Near({-1, 3, 3, 7}));
  EXPECT_THAT(outputs[1].ReadDoubles(), Near({2, 20}));
  EXPECT_THAT(outputs[2].ReadDoubles(), Near({1, 0.1}));
}

TEST(NnRunTest, RmsNormalizationGivesTheDtypeOfTheScale) {
  const auto outputs =
      RunOnnx(R"(
g (float16[2, 2] X, float[2] S) => (float[2, 2] Y) {
  Y = RMSNormalization <epsilon = 0.0> (X, S)
})",
              23, {HostTensor::FromDoubles(DType::kF16, {2, 2}, {1, 7, -5, 5}), F32({2}, {5, 10})});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_EQ(outputs[0].dtype(), DType::kF32);
  // sqrt((1 + 49) / 2) = 5; fifths are not exact in f16.
  EXPECT_THAT(outputs[0].ReadDoubles(), Pointwise(DoubleNear(1e-2), {1, 14, -5, 10}));
}

TEST(NnRunTest, SimplifiedLayerNormalizationIsTheSame) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 2] X, float[2] S) => (float[2, 2] Y) {
  Y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.0, stash_type = 1>
      (X, S)
})",
                            17, {F32({2, 2}, {1, 7, -5, 5}), F32({2}, {5, 10})}),
              Near({1, 14, -5, 10}));
}

TEST(NnRunTest, MeanVarianceNormalizationTakesTheDefaultAxesThatAreThere) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 2, 1] X) => (float[2, 2, 1] Y) {
  Y = MeanVarianceNormalization (X)
})",
                            13, {F32({2, 2, 1}, {1, 10, 3, 30})}),
              Near({-1, -1, 1, 1}));
}

TEST(NnRunTest, LpNormalizationKeepsZeros) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 2] X) => (float[2, 2] Y) {
  Y = LpNormalization <p = 1> (X)
})",
                            22, {F32({2, 2}, {0, 0, -1, 3})}),
              Near({0, 0, -0.25, 0.75}));
}

// --- Activations -------------------------------------------------------------------------

TEST(NnRunTest, ShrinkOfIntegersIsExact) {
  const std::string model = R"(
g (int64[6] X) => (int64[6] Y) {
  Y = Shrink <lambd = 2.5, bias = %> (X)
})";
  const int64_t large = (int64_t{1} << 60) + 1;
  const HostTensor x = I64({6}, {-large, -3, -2, 2, 3, large});
  const auto run = [&](const std::string& bias) {
    const auto outputs = RunOnnx(Fill(model, bias), 9, {x});
    return outputs.empty() ? std::vector<int64_t>() : outputs[0].ReadInts();
  };
  EXPECT_THAT(run("0.0"), ElementsAre(-large, -3, 0, 0, 3, large));
  EXPECT_THAT(run("4.0"), ElementsAre(4 - large, 1, 0, 0, -1, large - 4));
  // -3 + 3.5 and 3 - 3.5 lose the fraction.
  EXPECT_THAT(run("3.5"), ElementsAre(4 - large, 0, 0, 0, 0, large - 4));
}

TEST(NnRunTest, ShrinkOfBytesComparesNumbers) {
  const HostTensor x = HostTensor::FromInts(DType::kU8, {4}, {0, 1, 2, 255});
  EXPECT_THAT(RunOnnxValues(R"(
g (uint8[4] X) => (uint8[4] Y) {
  Y = Shrink <lambd = 1.0, bias = 1.0> (X)
})",
                            9, {x}),
              ElementsAre(0, 0, 1, 254));
}

}  // namespace
}  // namespace weft
