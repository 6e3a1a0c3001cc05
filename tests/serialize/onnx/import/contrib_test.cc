// com.microsoft operators. Queries of zeros attend equally to all visible keys, so that results are
// means of their values.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- MatMulNBits ------------------------------------------------------------

// Two blocks of 16 of which a row has 20 elements; low bits come first.
TEST(MatMulNBitsTest, BlocksHaveScalesAndTheMiddleIsZero) {
  std::vector<int64_t> bytes(16, 0x88);
  bytes[0] = 0x98;
  bytes[1] = 0xBA;
  bytes[8] = 0x0F;
  for (int i = 10; i < 16; ++i) bytes[i] = 0xFF;  // Past the row's end.
  std::vector<double> rows(60, 0);
  for (int i = 0; i < 20; ++i) rows[i] = 1;
  rows[20 + 1] = 1;
  rows[40 + 17] = 1;
  // (0 + 1 + 2 + 3) / 2 + (7 - 8) * 2; 1 / 2; -8 * 2.
  EXPECT_THAT(RunOnnxValues(
                  R"(
g (float[3, 20] A, uint8[1, 2, 8] B, float[2] S) => (float[3, 1] Y) {
  Y = com.microsoft.MatMulNBits <K = 20, N = 1, block_size = 16> (A, B, S)
})",
                  19, {F32({3, 20}, rows), U8({1, 2, 8}, bytes), F32({2}, {0.5, 2})}),
              Near({1, 0.5, -16}));
}

TEST(MatMulNBitsTest, ZeroPointsArePackedByRow) {
  // Rows of three blocks; their zero points are 3, 7, 1 and 4, 8, 2.
  const std::string model = R"(
g (float[48] A, uint8[2, 3, 8] B, float[6] S, % Z, float[2] bias)
    => (float[2] Y) {
  Y = com.microsoft.MatMulNBits <K = 48, N = 2, bits = 4, block_size = 16>
      (A, B, S, Z, , bias)
})";
  std::vector<double> a(48, 0);
  a[0] = 1;
  a[16] = 10;
  a[32] = 100;
  const auto run = [&](const std::string& type, HostTensor zero_points) {
    return RunOnnxValues(Fill(model, type), 19,
                         {F32({48}, a), U8({2, 3, 8}, std::vector<int64_t>(48, 0x99)),
                          F32({6}, {1, 1, 1, 2, 2, 2}), zero_points, F32({2}, {0.5, 0})});
  };
  EXPECT_THAT(run("uint8[4]", U8({4}, {0x73, 0xF1, 0x84, 0xF2})),
              Near({6 + 20 + 800 + 0.5, 10 + 20 + 1400}));
  EXPECT_THAT(run("float[6]", F32({6}, {3, 7, 1, 4, 8, 2})),
              Near({6 + 20 + 800 + 0.5, 10 + 20 + 1400}));
}

TEST(MatMulNBitsTest, OtherWidths) {
  const std::string model = R"(
g (float[4, 16] A, uint8[1, 1, %] B, float[1] S) => (float[4, 1] Y) {
  Y = com.microsoft.MatMulNBits <K = 16, N = 1, bits = %, block_size = 16>
      (A, B, S)
})";
  std::vector<double> a(64, 0);
  for (int i = 0; i < 4; ++i) a[16 * i + i] = 1;  // The first four weights.
  const auto run = [&](const std::string& bits, std::vector<int64_t> bytes) {
    const int64_t n = static_cast<int64_t>(bytes.size());
    return RunOnnxValues(Fill(Fill(model, std::to_string(n)), bits), 19,
                         {F32({4, 16}, a), U8({1, 1, n}, bytes), F32({1}, {1})});
  };
  EXPECT_THAT(run("2", {0b11100100, 0, 0, 0}), Near({-2, -1, 0, 1}));
  std::vector<int64_t> bytes(16, 0);
  bytes[1] = 255;
  bytes[2] = 128;
  EXPECT_THAT(run("8", bytes), Near({-128, 127, 0, -128}));
}

TEST(MatMulNBitsTest, IsOneOp) {
  const std::string text = ImportToText(R"(
g (float[s, 20] A, uint8[3, 2, 8] B, float[6] S, uint8[3] Z, float[3] bias) => (float[s, 3] Y) {
  Y = com.microsoft.MatMulNBits <K = 20, N = 3, block_size = 16> (A, B, S, Z, , bias)
})");
  EXPECT_THAT(text, HasSubstr("reshape(%S, size=[3, 2])"));
  EXPECT_THAT(text, HasSubstr("reshape(%Z, size=[3, 1])"));
  EXPECT_THAT(text, HasSubstr("matmul_nbits(%A, %B, "));
  EXPECT_THAT(text, HasSubstr("%bias, group_size=16"));
  const std::string floats = ImportToText(R"(
g (float[s, 20] A, uint8[3, 2, 8] B, float[6] S, float[6] Z) => (float[s, 3] Y) {
  Y = com.microsoft.MatMulNBits <K = 20, N = 3, block_size = 16> (A, B, S, Z)
})");
  EXPECT_THAT(floats, HasSubstr("reshape(%Z, size=[3, 2])"));
  EXPECT_THAT(floats, HasSubstr("matmul_nbits(%A, %B, "));
}

TEST(MatMulNBitsTest, WhatIsWrongIsNamed) {
  const std::string model = R"(
g (float[1, 16] A, uint8[1, 1, 8] B, float[1] S, int32[16] G)
    => (float[1, 1] Y) {
  Y = com.microsoft.MatMulNBits <%> (A, B, S, , %)
})";
  const auto import = [&](const std::string& attrs, const std::string& g_idx) {
    return ImportToText(Fill(Fill(model, attrs), g_idx));
  };
  EXPECT_THAT(import("K = 16, N = 1, block_size = 24", ""),
              HasSubstr("block_size must be a power of two of at least 16"));
  EXPECT_THAT(import("K = 16, N = 1, block_size = 16, bits = 3", ""),
              HasSubstr("bits must be 2, 4 or 8, got 3"));
  EXPECT_THAT(import("K = -1, N = 1, block_size = 16", ""),
              HasSubstr("K and N must be sizes, got -1 and 1"));
  EXPECT_THAT(import("K = 32, N = 1, block_size = 16", ""), HasSubstr("MatMulNBits node"));
  EXPECT_THAT(import("K = 16, N = 1, block_size = 16", "G"), HasSubstr("g_idx is deprecated"));
}

// --- Attention --------------------------------------------------------------

// One head of size 1, three tokens. The weights make queries and keys of zeros
// and values of the input.
std::vector<double> Attend(const std::string& attrs, const std::string& inputs,
                           const std::string& declared, std::vector<HostTensor> rest) {
  const std::string model = R"(
g (float[2, 3, 1] X, float[1, 3] W%) => (float[2, 3, 1] Y) {
  Y = com.microsoft.Attention <num_heads = 1%> (X, W%)
})";
  std::vector<HostTensor> all = {F32({2, 3, 1}, {1, 2, 6, 10, 20, 60}), F32({1, 3}, {0, 0, 1})};
  for (HostTensor& t : rest) all.push_back(std::move(t));
  return RunOnnxValues(Fill(Fill(Fill(model, declared), attrs), inputs), 17, all);
}

TEST(ContribAttentionTest, AllKeysOrThoseBefore) {
  EXPECT_THAT(Attend("", "", "", {}), Near({3, 3, 3, 30, 30, 30}));
  EXPECT_THAT(Attend(", unidirectional = 1", "", "", {}), Near({1, 1.5, 3, 10, 15, 30}));
}

TEST(ContribAttentionTest, BiasIsOfTheProjection) {
  EXPECT_THAT(Attend("", ", B", ", float[3] B", {F32({3}, {0, 0, 1})}),
              Near({4, 4, 4, 31, 31, 31}));
}

TEST(ContribAttentionTest, MaskOfEndsAndStarts) {
  EXPECT_THAT(Attend("", ", , M", ", int32[2] M", {I32({2}, {2, 1})}),
              Near({1.5, 1.5, 1.5, 10, 10, 10}));
  EXPECT_THAT(Attend("", ", , M", ", int32[4] M", {I32({4}, {3, 2, 1, 0})}),
              Near({4, 4, 4, 15, 15, 15}));
}

TEST(ContribAttentionTest, MaskOfKeys) {
  const HostTensor mask = I32({2, 3}, {1, 0, 1, 0, 0, 1});
  EXPECT_THAT(Attend("", ", , M", ", int32[2, 3] M", {mask}), Near({3.5, 3.5, 3.5, 60, 60, 60}));
  // The fill value hides nothing.
  EXPECT_THAT(Attend(", mask_filter_value = 0.0", ", , M", ", int32[2, 3] M", {mask}),
              Near({3, 3, 3, 30, 30, 30}));
  // The fill is finite, the bound of unidirectional is not: the first query of
  // the second has one key, which the mask hides.
  EXPECT_THAT(Attend(", unidirectional = 1", ", , M", ", int32[2, 3] M", {mask}),
              Near({1, 1, 3.5, 10, 15, 60}));
}

TEST(ContribAttentionTest, MaskOfQueriesAndKeys) {
  const std::vector<int64_t> each = {1, 0, 0, 0, 1, 0, 1, 1, 0};
  std::vector<int64_t> both = each;
  both.insert(both.end(), each.begin(), each.end());
  const auto expected = Near({1, 2, 1.5, 10, 20, 15});
  EXPECT_THAT(Attend("", ", , M", ", int32[2, 3, 3] M", {I32({2, 3, 3}, both)}), expected);
  // A mask of the maximum length, of which the first positions are used.
  const std::vector<int64_t> most = {1, 0, 0, 1, 0, 1, 0, 1,  //
                                     1, 1, 0, 1, 1, 1, 1, 1};
  EXPECT_THAT(Attend("", ", , M", ", int32[1, 1, 4, 4] M", {I32({1, 1, 4, 4}, most)}), expected);
}

TEST(ContribAttentionTest, NumbersAreAddedToTheScores) {
  EXPECT_THAT(Attend("", ", , , , A", ", float[1, 1, 3, 3] A",
                     {F32({1, 1, 3, 3}, {0, -1e9, -1e9, -1e9, 0, -1e9, -1e9, -1e9, 0})}),
              Near({1, 2, 6, 10, 20, 60}));
}

TEST(ContribAttentionTest, ThePastComesFirst) {
  const auto outputs = RunOnnx(
      R"(
g (float[1, 2, 1] X, float[1, 3] W, float[2, 1, 1, 2, 1] P)
    => (float[1, 2, 1] Y, float[2, 1, 1, 4, 1] N) {
  Y, N = com.microsoft.Attention <num_heads = 1, unidirectional = 1>
      (X, W, , , P)
})",
      17, {F32({1, 2, 1}, {6, 11}), F32({1, 3}, {0, 0, 1}), F32({2, 1, 1, 2, 1}, {7, 8, 1, 2})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(outputs[0].ReadDoubles(), Near({3, 5}));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(7, 8, 0, 0, 1, 2, 6, 11));
}

// Two heads: the first sees key 1 alone (a score of 100 against 0), the second
// both. Values have size 2 a head, queries and keys 1.
TEST(ContribAttentionTest, HeadsAndHiddenSizes) {
  const std::string model = R"(
g (float[1, 2, 2] X, float[2, 8] W) => (float[1, 2, 4] Y) {
  Y = com.microsoft.Attention
      <num_heads = 2, qkv_hidden_sizes = [2, 2, 4], scale = 1.0> (X, W)
})";
  EXPECT_THAT(
      RunOnnxValues(model, 17,
                    {F32({1, 2, 2}, {1, 0, 1, 1}), F32({2, 8}, {100, 0, 0, 0, 1, 2, 3, 4,  //
                                                                0, 0, 1, 0, 2, 4, 6, 8})}),
      Near({3, 6, 6, 8, 3, 6, 6, 8}));
}

TEST(ContribAttentionTest, WhatIsRefusedIsNamed) {
  const std::string model = R"(
g (float[2, 3, 1] X, float[1, 3] W, int32[8] M) => (float[2, 3, 1] Y) {
  Y = com.microsoft.Attention <%> (X, W, , %)
})";
  const auto import = [&](const std::string& attrs, const std::string& mask) {
    return ImportToText(Fill(Fill(model, attrs), mask));
  };
  EXPECT_THAT(import("num_heads = 1, do_rotary = 1", ""), HasSubstr("do_rotary"));
  EXPECT_THAT(import("num_heads = 1, past_present_share_buffer = 1", ""),
              HasSubstr("past_present_share_buffer"));
  EXPECT_THAT(import("num_heads = 0", ""), HasSubstr("num_heads must be positive"));
  EXPECT_THAT(import("num_heads = 1, qkv_hidden_sizes = [1, 2, 1]", ""),
              HasSubstr("qkv_hidden_sizes do not divide"));
  EXPECT_THAT(import("num_heads = 1", "M"), HasSubstr("i32[8] for a batch of 2"));
}

}  // namespace
}  // namespace weft
