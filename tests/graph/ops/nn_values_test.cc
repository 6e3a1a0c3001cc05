// Ops whose results no other test in //tests/graph/ops determines, on numbers small enough to be
// computed by hand.
#include <cmath>
#include <string>
#include <vector>

#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

struct ValueCase {
  const char* call;
  std::vector<std::vector<double>> results;
};

void Check(const std::vector<ValueCase>& cases) {
  for (const ValueCase& c : cases) {
    SCOPED_TRACE(c.call);
    const auto samples = ParseSamples(c.call, ops::Registry());
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_EQ(samples->size(), 1u);
    const Sample& sample = samples->front();
    const auto got = Evaluate(*sample.op, sample.attrs, SampleInputs(sample, 0));
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), c.results.size());
    for (size_t i = 0; i < got->size(); ++i) {
      const std::vector<double> values = (*got)[i].ReadDoubles();
      ASSERT_EQ(values.size(), c.results[i].size()) << "result " << i;
      for (size_t j = 0; j < values.size(); ++j) {
        const double want = c.results[i][j];
        EXPECT_NEAR(values[j], want, 1e-6 * (1 + std::abs(want)))
            << "result " << i << ", element " << j;
      }
    }
  }
}

TEST(NnValues, Products) {
  Check({
      {"matmul(f32[2, 3]{1, 2, 3, 4, 5, 6}, f32[3, 2]{1, 0, 0, 1, 1, 1})", {{4, 5, 10, 11}}},
      {"matmul(f32[2]{1, 2}, f32[2, 2, 1]{3, 4, 5, 6})", {{11, 17}}},
      {"matmul(i32[1, 2]{65536, 1}, i32[2, 1]{65536, 7})", {{7}}},
      {"linear(f32[1, 2]{1, 2}, f32[2, 2]{3, 4, 5, 6}, f32[2]{10, 20})", {{21, 37}}},
      {"det(f32[2, 2]{1, 2, 3, 4})", {{-2}}},
      {"einsum(f32[2, 2]{1, 2, 3, 4}, f32[2]{10, 100}, "
       "equation=\"ii,j->ij\")",
       {{10, 100, 40, 400}}},
      {"einsum(f32[2, 2]{1, 2, 3, 4}, equation=\"ii\")", {{5}}},
  });
}

TEST(NnValues, Convolution) {
  Check({
      {"convolution(f32[1, 1, 4]{1, 2, 3, 4}, f32[1, 1, 2]{1, 10}, "
       "f32[1]{100}, stride=[2], padding=[1, 0], dilation=[2])",
       {{120, 142}}},
      {"convolution(f32[1, 2, 3]{1, 2, 3, 4, 5, 6}, f32[2, 1, 2]{1, 1, 1, "
       "-1}, none, stride=[1], padding=[0], dilation=[1], groups=2)",
       {{3, 5, -1, -1}}},
      {"convolution(f32[1, 1, 2]{1, 2}, f32[1, 1, 3]{1, 10, 100}, none, "
       "stride=[2], padding=[1, 0], dilation=[1], transposed=true, "
       "output_padding=[1])",
       {{10, 102, 20, 200, 0}}},
      {"convolution(f32[1, 1, 2, 2]{1, 2, 3, 4}, f32[1, 1, 2, 2]{1, 2, 3, "
       "4}, none, stride=[1, 1], padding=[0, 1, 1, 0], dilation=[1, 1])",
       {{14, 30, 6, 11}}},
      {"col2im(f32[1, 2, 2]{1, 2, 3, 4}, output_size=[3], "
       "kernel_size=[2], dilation=[1], padding=[0, 0], stride=[1])",
       {{1, 5, 4}}},
  });
}

// A convolution multiplies the zeros around its input; a transposed one adds nothing there.
TEST(NnValues, InfiniteWeightsBesidePadding) {
  const auto eval = [](const char* call) {
    const Sample sample = ParseSamples(call, ops::Registry())->front();
    return Evaluate(*sample.op, sample.attrs, SampleInputs(sample, 0))->front().ReadDoubles();
  };
  const std::vector<double> y = eval(
      "convolution(f32[1, 1, 2]{1, 2}, f32[1, 1, 2]{inf, 1}, none, stride=[1], padding=[1], "
      "dilation=[1])");
  ASSERT_EQ(y.size(), 3u);
  EXPECT_TRUE(std::isnan(y[0]) && std::isinf(y[1]) && std::isinf(y[2]));
  EXPECT_EQ(
      eval("convolution(f32[1, 1, 2]{1, 2}, f32[1, 1, 1]{inf}, none, stride=[2], padding=[0], "
           "dilation=[1], transposed=true, output_padding=[1])"),
      (std::vector<double>{HUGE_VAL, 0, HUGE_VAL, 0}));
}

TEST(NnValues, Pooling) {
  Check({
      {"max_pool(f32[1, 1, 5]{1, 3, 3, 2, 0}, kernel_size=[3], "
       "stride=[2], padding=[1, 0], dilation=[1])",
       {{3, 3}, {1, 1}}},
      {"max_pool(f32[1, 1, 3, 3]{1, 2, 3, 4, 9, 5, 6, 7, 8}, "
       "kernel_size=[2, 2], stride=[2, 2], padding=[0, 0, 0, 0], "
       "dilation=[1, 1], ceil_mode=true)",
       {{9, 5, 7, 8}, {4, 5, 7, 8}}},
      // A third window would begin behind the input.
      {"max_pool(f32[1, 1, 5]{1, 3, 3, 2, 0}, kernel_size=[2], "
       "stride=[3], padding=[1, 0], dilation=[1], ceil_mode=true)",
       {{1, 3}, {0, 2}}},
      {"avg_pool(f32[1, 1, 4]{1, 2, 3, 4}, kernel_size=[3], stride=[2], "
       "padding=[1, 1], dilation=[1])",
       {{1.5, 3}}},
      {"avg_pool(f32[1, 1, 4]{1, 2, 3, 4}, kernel_size=[3], stride=[2], "
       "padding=[1, 1], dilation=[1], count_include_pad=true)",
       {{1, 3}}},
      {"avg_pool(f32[1, 1, 4]{1, 2, 3, 4}, kernel_size=[3], stride=[2], "
       "padding=[0, 0], dilation=[1], ceil_mode=true, "
       "count_include_pad=true)",
       {{2, 3.5}}},
      {"lp_pool(f32[1, 1, 4]{3, -4, 0, 5}, kernel_size=[2], stride=[1], "
       "padding=[0, 0], dilation=[1])",
       {{5, 4, 5}}},
      {"max_unpool(f32[1, 2, 2]{1, 2, 3, 4}, i64[1, 2, 2]{0, 3, 1, 2}, "
       "size=[1, 2, 4])",
       {{1, 0, 0, 2, 0, 3, 4, 0}}},
  });
}

TEST(NnValues, Norms) {
  Check({
      {"native_layer_norm(f32[1, 4]{1, 3, 1, 3}, f32[4]{1, 1, 2, 2}, "
       "f32[4]{0, 0, 1, 1}, normalized_shape=[4], eps=0.0)",
       {{-1, 1, -1, 3}, {2}, {1}}},
      {"batch_norm(f32[1, 2]{3, 5}, f32[2]{2, 1}, f32[2]{1, 0}, f32[2]{1, "
       "1}, f32[2]{4, 16}, eps=0.0)",
       {{3, 1}}},
      {"group_norm(f32[1, 4]{1, 3, 10, 30}, none, none, num_groups=2, "
       "eps=0.0)",
       {{-1, 1, -1, 1}}},
      {"rms_norm(f32[1, 2]{1, 7}, f32[2]{1, 2}, normalized_shape=[2], "
       "eps=0.0)",
       {{0.2, 2.8}}},
      {"local_response_norm(f32[1, 4]{1, 2, 3, 4}, size=2, alpha=2.0, "
       "beta=1.0, k=1.0)",
       {{0.1666667, 0.1428571, 0.1153846, 0.2352941}}},
  });
}

TEST(NnValues, Attention) {
  Check({
      {"scaled_dot_product_attention(f32[2, 1]{0, 1}, f32[2, 1]{0, 1}, "
       "f32[2, 1]{1, 3}, none, is_causal=true, scale=1.0)",
       {{1, 2.462117}}},
      {"scaled_dot_product_attention(f32[1, 2, 1, 1]{0, 0}, f32[1, 1, 2, "
       "1]{5, 7}, f32[1, 1, 2, 1]{1, 3}, bool[1, 2, 1, 2]{1, 1, 0, 0}, "
       "enable_gqa=true)",
       {{2, 0}}},
      {"rotary_embedding(f32[4]{1, 2, 3, 4}, f32[2]{0, 1}, f32[2]{1, 0})", {{-3, 2, 1, 4}}},
      {"rotary_embedding(f32[4]{1, 2, 3, 4}, f32[2]{0, 1}, f32[2]{1, 0}, "
       "interleaved=true)",
       {{-2, 1, 3, 4}}},
  });
}

TEST(NnValues, Recurrent) {
  Check({
      {"rnn(f32[2, 1, 1]{1, 2}, f32[1, 1, 1]{3}, f32[1, 1, 1]{10}, f32[1, "
       "2]{0.5, 0.25}, none, none, hidden_size=1, "
       "activations=[\"Affine\"], activation_alpha=[1.0])",
       {{3.75, 44.25}, {44.25}}},
      {"rnn(f32[2, 2, 1]{1, 2, 3, 4}, f32[1, 1, 1]{1}, f32[1, 1, 1]{10}, "
       "none, i32[2]{2, 1}, none, direction=\"reverse\", hidden_size=1, "
       "activations=[\"Relu\"])",
       {{31, 2, 3, 0}, {31, 2}}},
      {"gru(f32[1, 1, 1]{1}, f32[1, 3, 1]{0.25, 0.5, 3}, f32[1, 3, 1]{0, "
       "0, 2}, f32[1, 6]{0, 0, 0, 0, 0, 1}, none, f32[1, 1, 1]{8}, "
       "hidden_size=1, activations=[\"Affine\", \"Affine\"])",
       {{11}, {11}}},
      {"gru(f32[1, 1, 1]{1}, f32[1, 3, 1]{0.25, 0.5, 3}, f32[1, 3, 1]{0, "
       "0, 2}, f32[1, 6]{0, 0, 0, 0, 0, 1}, none, f32[1, 1, 1]{8}, "
       "hidden_size=1, activations=[\"Affine\", \"Affine\"], "
       "linear_before_reset=true)",
       {{10.625}, {10.625}}},
      {"lstm(f32[1, 1, 1]{1}, f32[1, 4, 1]{1, 2, 3, 4}, f32[1, 4, 1]{0, "
       "0, 0, 0}, none, none, none, f32[1, 1, 1]{2}, f32[1, 3]{1, 1, 1}, "
       "hidden_size=1, activations=[\"Affine\", \"Affine\", \"Affine\"])",
       {{528}, {528}, {22}}},
      {"lstm(f32[1, 1, 1]{1}, f32[1, 4, 1]{0.5, 2, 3, 4}, f32[1, 4, 1]{0, "
       "0, 0, 0}, none, none, none, f32[1, 1, 1]{2}, none, hidden_size=1, "
       "activations=[\"Affine\", \"Affine\", \"Affine\"], clip=3.0, "
       "input_forget=true)",
       {{5}, {5}, {2.5}}},
  });
}

TEST(NnValues, Quantization) {
  Check({
      {"quantize_linear(f32[6]{0.5, 1.5, 2.5, -0.5, 300, -300}, f32[]{1}, "
       "u8[]{10}, dtype=u8)",
       {{10, 12, 12, 10, 255, 0}}},
      {"quantize_linear(f32[2, 3]{1, 2, 3, 4, 5, 6}, f32[2, 2]{1, 2, 4, "
       "1}, none, dtype=i8, block_size=2)",
       {{1, 2, 2, 1, 1, 6}}},
      {"dequantize_linear(i8[2, 2]{-128, 0, 1, 127}, f32[2]{0.5, 2}, "
       "i8[2]{-128, 1}, axis=0)",
       {{0, 64, 0, 252}}},
      {"quantize_linear(f32[2, 3]{1, 2, 3, 4, 5, 6}, f32[1, 2]{1, 3}, none, "
       "dtype=i8, block_shape=[2, 2])",
       {{1, 2, 1, 4, 5, 2}}},
      {"quantize_linear(f32[2, 3]{1, 2, 3, 4, 5, 6}, f32[2, 1]{1, 2}, none, "
       "dtype=i8, block_shape=[1, -1])",
       {{1, 2, 3, 2, 2, 3}}},
      {"dequantize_linear(u8[2]{3, 0}, f32[]{2}, f32[]{0.5})", {{5, -1}}},
      {"fake_quantize(f32[4]{-3, 0.4, 2.6, 300}, f32[]{2}, i8[]{1}, dtype=i8, "
       "quant_min=0, quant_max=10)",
       {{-2, 0, 2, 18}}},
      {"fake_quantize(f32[1]{nan}, f32[]{1}, u8[]{3}, dtype=u8, quant_min=1)", {{-2}}},
  });
}

TEST(NnValues, QuantizationParameters) {
  Check({
      {"choose_qparams(f32[2]{-1, 3}, dtype=u8)", {{4.0 / 255}, {64}}},
      {"choose_qparams(f32[2]{-1, 3}, dtype=i8)", {{4.0 / 255}, {-64}}},
      // Zero is in every range.
      {"choose_qparams(f32[2]{1, 3}, dtype=u8)", {{3.0 / 255}, {0}}},
      {"choose_qparams(f32[2]{-3, -1}, dtype=i8, quant_min=-127)", {{3.0 / 254}, {127}}},
      {"choose_qparams(f32[2]{-4, 2}, dtype=i8, scheme=\"symmetric\")", {{4 / 127.5}, {0}}},
      {"choose_qparams(f32[2]{-4, 2}, dtype=i8, quant_min=-127, scheme=\"symmetric\")",
       {{4 / 127.0}, {0}}},
      {"choose_qparams(f32[2]{-4, 2}, dtype=u8, scheme=\"symmetric\")", {{4 / 127.5}, {128}}},
      {"choose_qparams(f32[2]{-4, 2}, dtype=u8, quant_max=127, scheme=\"symmetric\")",
       {{4 / 63.5}, {63}}},
      {"choose_qparams(f32[2]{-224, 2}, dtype=f8e4m3, scheme=\"symmetric\")", {{0.5}, {0}}},
      {"choose_qparams(f32[2]{0..0}, dtype=i8, eps=0.25)", {{0.25}, {-128}}},
      {"choose_qparams(f32[0], dtype=u8, eps=0.25)", {{0.25}, {0}}},
      {"choose_qparams(f32[2, 2]{1, -2, 3, -4}, dtype=u8, axis=1)",
       {{3.0 / 255, 4.0 / 255}, {0, 255}}},
      {"choose_qparams(f32[1, 5]{1, 2, 3, 4, -5}, dtype=u8, axis=1, block_size=2)",
       {{2.0 / 255, 4.0 / 255, 5.0 / 255}, {0, 0, 255}}},
      {"choose_qparams(f32[2, 4]{1, 2, 3, 4, 5, 6, 7, 8}, dtype=u8, block_shape=[2, 2])",
       {{6.0 / 255, 8.0 / 255}, {0, 0}}},
  });
}

TEST(NnValues, Interpolate) {
  Check({
      {"interpolate(f32[2]{0, 1}, size=[4], mode=\"linear\")", {{0, 0.25, 0.75, 1}}},
      {"interpolate(f32[2]{0, 1}, size=[4], mode=\"linear\", "
       "coordinate_transformation_mode=\"align_corners\")",
       {{0, 0.3333333, 0.6666667, 1}}},
      {"interpolate(f32[2]{0, 1}, size=[4], mode=\"linear\", "
       "coordinate_transformation_mode=\"asymmetric\")",
       {{0, 0.5, 1, 1}}},
      {"interpolate(f32[4]{0, 1, 2, 3}, size=[2], mode=\"linear\", "
       "antialias=true)",
       {{0.625, 2.375}}},
      {"interpolate(f32[4]{0, 1, 2, 3}, size=[2], "
       "coordinate_transformation_mode=\"half_pixel\", "
       "nearest_mode=\"round_prefer_ceil\")",
       {{1, 3}}},
      {"interpolate(f32[4]{0, 1, 2, 3}, size=[2], "
       "coordinate_transformation_mode=\"half_pixel\", "
       "nearest_mode=\"round_prefer_floor\")",
       {{0, 2}}},
      {"interpolate(f32[4]{0, 1, 8, 27}, size=[1], mode=\"cubic\")", {{2.8125}}},
      {"interpolate(f32[3]{0, 1, 2}, size=[3], roi=[0.5, 1.5], "
       "mode=\"linear\", "
       "coordinate_transformation_mode=\"tf_crop_and_resize\", "
       "extrapolation_value=9.0)",
       {{1, 2, 9}}},
      {"interpolate(u8[2]{0, 3}, size=[4], mode=\"linear\")", {{0, 1, 2, 3}}},
  });
}

TEST(NnValues, Sampling) {
  Check({
      {"grid_sampler(f32[1, 1, 1, 2]{1, 3}, f32[1, 1, 3, 2]{0, 0, -1, 0, "
       "2, 0})",
       {{2, 0.5, 0}}},
      {"grid_sampler(f32[1, 1, 1, 2]{1, 3}, f32[1, 1, 3, 2]{0, 0, -1, 0, "
       "2, 0}, padding_mode=\"border\", align_corners=true)",
       {{2, 1, 3}}},
      {"grid_sampler(f32[1, 1, 3]{1, 3, 7}, f32[1, 2, 1]{1.5, -2}, "
       "mode=\"nearest\", padding_mode=\"reflection\", align_corners=true)",
       {{7, 3}}},
      {"affine_grid(f32[1, 2, 3]{1, 0, 0, 0, 1, 0}, size=[1, 1, 2, 2])",
       {{-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5}}},
      {"affine_grid(f32[1, 2, 3]{0, 1, 5, 2, 0, 0}, size=[1, 1, 1, 2], "
       "align_corners=true)",
       {{5, -2, 5, 2}}},
  });
}

TEST(NnValues, Regions) {
  Check({
      {"roi_align(f32[1, 1, 2, 2]{1, 2, 3, 4}, f32[1, 4]{0, 0, 2, 2}, "
       "i64[1]{0}, sampling_ratio=2)",
       {{2.5}}},
      {"roi_align(f32[1, 1, 2, 2]{1, 2, 3, 4}, f32[1, 4]{0, 0, 2, 2}, "
       "i64[1]{0}, output_height=2, output_width=2, sampling_ratio=1)",
       {{1, 2, 3, 4}}},
      {"max_roi_pool(f32[1, 1, 2, 3]{1, 2, 3, 4, 5, 6}, f32[1, 5]{0, 1, "
       "0, 2, 1}, pooled_shape=[1, 2])",
       {{5, 6}}},
      {"non_max_suppression(f32[1, 3, 4]{0, 0, 1, 1, 0, 0, 1, 0.9, 0, 5, "
       "1, 6}, f32[1, 1, 3]{0.8, 0.9, 0.7}, i64[]{3}, f32[]{0.5}, "
       "f32[]{0.5})",
       {{0, 0, 1, 0, 0, 2}}},
  });
}

TEST(NnValues, Signal) {
  Check({
      {"dft(f32[4, 1]{1, 2, 3, 4}, axis=0, onesided=true)", {{10, 0, -2, 2, -2, 0}}},
      {"dft(f32[4, 2]{10, 0, -2, 2, -2, 0, -2, -2}, axis=0, inverse=true)",
       {{1, 0, 2, 0, 3, 0, 4, 0}}},
      {"stft(f32[1, 4, 1]{1, 2, 3, 4}, f32[2]{1, 2}, frame_step=2, "
       "frame_length=2)",
       {{5, 0, -3, 0, 11, 0, -5, 0}}},
      {"mel_weight_matrix(i64[]{1}, i64[]{4}, i64[]{8}, f32[]{0}, "
       "f32[]{4})",
       {{1, 0, 0}}},
  });
}

std::vector<double> Spectrum(const char* call) {
  const auto samples = ParseSamples(call, ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  const Sample& sample = samples->front();
  const auto got = Evaluate(*sample.op, sample.attrs, SampleInputs(sample, 0));
  EXPECT_TRUE(got.ok()) << got.status();
  return (*got)[0].ReadDoubles();
}

// Real elements are exactly real, with a positive zero, which their angle shows: the angle of (-8,
// -0) is -pi. The second half is the conjugate of the first one in every bit.
TEST(NnValues, SpectraOfRealNumbers) {
  for (int half = 0; half < 2; ++half) {
    const std::vector<double> y =
        Spectrum(half ? "dft(f32[4, 1]{1, 2, -3, 4}, axis=0, onesided=true)"
                      : "dft(f32[4, 1]{1, 2, -3, 4}, axis=0)");
    EXPECT_EQ(y[0], 4);
    EXPECT_EQ(y[4], -8);
    for (int bin : {0, 2}) {
      EXPECT_EQ(y[2 * bin + 1], 0) << bin;
      EXPECT_FALSE(std::signbit(y[2 * bin + 1])) << bin;
    }
  }
  const std::vector<double> y = Spectrum("dft(f64[7, 1]{1, 2, -3, 4, 0.1, 7, 0.3}, axis=0)");
  for (int k = 1; k < 7; ++k) {
    EXPECT_EQ(y[2 * k], y[2 * (7 - k)]) << k;
    EXPECT_EQ(y[2 * k + 1], -y[2 * (7 - k) + 1]) << k;
  }
}

TEST(NnValues, Losses) {
  Check({
      {"nll_loss(f32[3, 2]{-1, -2, -3, -4, -5, -6}, i64[3]{0, 1, 1}, "
       "f32[2]{1, 3}, ignore_index=0)",
       {{5}}},
      {"nll_loss(f32[1, 2, 2]{-1, -2, -3, -4}, i64[1, 2]{1, 0}, none, "
       "reduction=\"none\")",
       {{3, 2}}},
  });
}

}  // namespace
}  // namespace weft
