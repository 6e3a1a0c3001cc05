// Results of imported operators of images: small numbers, computed by hand from the operators'
// definitions. The official cases cover the plain paths; this tests versions and attributes that
// they leave out.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

// --- Resize -------------------------------------------------------------------------

TEST(ImageRunTest, ResizeBeforeVersion11TakesTheNextElement) {
  // Growing: the lower neighbour. Shrinking: the upper one.
  const std::string model = R"(
g (float[1, 1, 2, 5] X) => (float[1, 1, 4, 3] Y) {
  S = Constant <value = float[4] {1.0, 1.0, 2.0, 0.6}> ()
  Y = Resize (X, S)
})";
  EXPECT_THAT(RunOnnxValues(model, 10, {Counting({1, 1, 2, 5})}),
              ElementsAre(0, 2, 4, 0, 2, 4, 5, 7, 9, 5, 7, 9));
}

TEST(ImageRunTest, UpsampleTakesScalesFromAttributes) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 1, 1, 2] X) => (float[1, 1, 2, 4] Y) {
  Y = Upsample <height_scale = 2.0, width_scale = 2.0> (X)
})",
                            6, {F32({1, 1, 1, 2}, {1, 2})}),
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 1, 1, 2] X) => (float[1, 1, 1, 4] Y) {
  Y = Upsample <mode = "linear", scales = [1.0, 1.0, 1.0, 2.0]> (X)
})",
                            7, {F32({1, 1, 1, 2}, {1, 2})}),
              Near({1, 1.5, 2, 2}));
}

TEST(ImageRunTest, ResizeKeepsTheAspectRatio) {
  // 2 x 4 into 6 x 6: by 1.5 (3 x 6) or by 3 (6 x 12).
  const std::string model = R"(
g (float[2, 4] X) => (float[A, B] Y) {
  S = Constant <value = int64[2] {6, 6}> ()
  Y = Resize <keep_aspect_ratio_policy = "%"> (X, , , S)
})";
  const auto run = [&](const std::string& policy) {
    const std::string text = Fill(model, policy);
    const auto outputs = RunOnnx(text, 18, {Counting({2, 4})});
    if (outputs.size() != 1) return std::vector<int64_t>();
    return std::vector<int64_t>(outputs[0].dims().begin(), outputs[0].dims().end());
  };
  EXPECT_THAT(run("not_larger"), ElementsAre(3, 6));
  EXPECT_THAT(run("not_smaller"), ElementsAre(6, 12));
}

TEST(ImageRunTest, ResizeOfSymbolicSizes) {
  const std::string scaled = R"(
g (float[N] X) => (float[M] Y) {
  S = Constant <value = float[1] {0.7}> ()
  Y = Resize <coordinate_transformation_mode = "asymmetric",
              nearest_mode = "floor"> (X, , S)
})";
  // floor(10 * 0.7) is 7, although 0.7 as f32 is a little less.
  EXPECT_THAT(RunOnnxValues(scaled, 13, {Counting({10})}), ElementsAre(0, 1, 2, 4, 5, 7, 8));
  const std::string sized = R"(
g (float[N] X, int64[1] S) => (float[M] Y) {
  Y = Resize <coordinate_transformation_mode = "asymmetric",
              nearest_mode = "floor"> (X, , , S)
})";
  EXPECT_THAT(RunOnnxValues(sized, 13, {Counting({2}), I64({1}, {4})}), ElementsAre(0, 0, 1, 1));
}

TEST(ImageRunTest, ResizeOfSomeAxesCropsByTheirRoi) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 5] X) => (float[1, 3] Y) {
  R = Constant <value = float[2] {0.25, 0.75}> ()
  S = Constant <value = int64[1] {3}> ()
  Y = Resize <mode = "linear", axes = [-1],
              coordinate_transformation_mode = "tf_crop_and_resize"> (X, R, , S)
})",
                            18, {F32({1, 5}, {0, 10, 20, 30, 40})}),
              Near({10, 20, 30}));
}

// --- Vision ---------------------------------------------------------------------------

TEST(ImageRunTest, AffineGridTakesItsSizeAtRunTime) {
  // Scales x by 2 and moves y by 1: positions (x, y) of 1 x 2 elements.
  EXPECT_THAT(RunOnnxValues(R"(
g (float[1, 2, 3] T, int64[4] S) => (float[A, B, C, 2] Y) {
  Y = AffineGrid (T, S)
})",
                            20, {F32({1, 2, 3}, {2, 0, 0, 0, 1, 1}), I64({4}, {1, 1, 1, 2})}),
              Near({-1, 1, 1, 1}));
}

TEST(ImageRunTest, GridSampleKnowsBothNamesOfItsModes) {
  const std::string model = R"(
g (float[1, 1, 1, 2] X, float[1, 1, 1, 2] G) => (float[1, 1, 1, 1] Y) {
  Y = GridSample <mode = "%", align_corners = 1> (X, G)
})";
  const auto run = [&](const std::string& mode, int opset) {
    const std::string text = Fill(model, mode);
    return RunOnnxValues(text, opset, {F32({1, 1, 1, 2}, {1, 3}), F32({1, 1, 1, 2}, {0, 0})});
  };
  EXPECT_THAT(run("bilinear", 16), Near({2}));
  EXPECT_THAT(run("linear", 20), Near({2}));
}

TEST(ImageRunTest, RoiAlignShiftsByHalfAPixelSinceVersion16) {
  const std::string model = R"(
g (float[1, 1, 4, 4] X, float[1, 4] R, int64[1] B) => (float[1, 1, 1, 1] Y) {
  Y = RoiAlign <sampling_ratio = 1> (X, R, B)
})";
  const std::vector<HostTensor> inputs = {Counting({1, 1, 4, 4}), F32({1, 4}, {1, 1, 2, 2}),
                                          I64({1}, {0})};
  // The center (1.5, 1.5), and (1, 1).
  EXPECT_THAT(RunOnnxValues(model, 10, inputs), Near({7.5}));
  EXPECT_THAT(RunOnnxValues(model, 16, inputs), Near({5}));
}

}  // namespace
}  // namespace weft
