// Attention and RotaryEmbedding. Queries of zeros attend to all visible keys
// alike, so that results are means of the visible values: powers of two.
#include <cmath>
#include <limits>
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
using ::testing::Not;

HostTensor Zeros(std::vector<int64_t> dims) { return HostTensor(DType::kF32, dims); }

TEST(AttentionTest, CausalQueriesSeeThePast) {
  const auto outputs =
      RunOnnx(R"(
g (float[1, 1, 2, 1] Q, float[1, 1, 2, 1] K, float[1, 1, 2, 1] V,
   float[1, 1, 2, 1] PK, float[1, 1, 2, 1] PV)
    => (float[1, 1, 2, 1] Y, float[1, 1, 4, 1] NK, float[1, 1, 4, 1] NV) {
  Y, NK, NV = Attention <is_causal = 1> (Q, K, V, , PK, PV)
})",
              23,
              {Zeros({1, 1, 2, 1}), F32({1, 1, 2, 1}, {7, 9}), F32({1, 1, 2, 1}, {4, 8}),
               F32({1, 1, 2, 1}, {3, 5}), F32({1, 1, 2, 1}, {1, 2})});
  ASSERT_EQ(outputs.size(), 3);
  EXPECT_THAT(outputs[0].ReadDoubles(), Near({7.0 / 3, 15.0 / 4}));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(3, 5, 7, 9));
  EXPECT_THAT(outputs[2].ReadDoubles(), ElementsAre(1, 2, 4, 8));
}

TEST(AttentionTest, HeadsAreUnpackedAndShared) {
  // Two heads of queries of size 1, one of keys; values of size 2.
  const std::string model = R"(
g (float[1, 2, 2] Q, float[1, 2, 1] K, float[1, 2, 2] V) => (float[1, 2, 4] Y) {
  Y = Attention <q_num_heads = 2, kv_num_heads = 1, scale = 1.0> (Q, K, V)
})";
  // Head 0 of token 0 puts all on key 1, everything else is even.
  EXPECT_THAT(RunOnnxValues(model, 23,
                            {F32({1, 2, 2}, {100, 0, 0, 0}), F32({1, 2, 1}, {0, 1}),
                             F32({1, 2, 2}, {1, 2, 4, 8})}),
              Near({4, 8, 2.5, 5, 2.5, 5, 2.5, 5}));
}

TEST(AttentionTest, SoftcapComesBeforeTheMask) {
  // Logits 1 and 0 become tanh(1) and 0; the mask hides the third key.
  const std::string model = R"(
g (float[1, 1, 1, 1] Q, float[1, 1, 3, 1] K, float[1, 1, 3, 1] V, float[1, 3] M)
    => (float[1, 1, 1, 1] Y) {
  Y = Attention <scale = 1.0, softcap = 1.0> (Q, K, V, M)
})";
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(RunOnnxValues(model, 23,
                            {F32({1, 1, 1, 1}, {1}), F32({1, 1, 3, 1}, {1, 0, 5}),
                             F32({1, 1, 3, 1}, {1, 0, 9}), F32({1, 3}, {0, 0, -infinity})}),
              Near({1 / (1 + std::exp(-std::tanh(1.0)))}));
}

TEST(AttentionTest, PaddingIsHiddenForEachOfTheBatch) {
  // One and three valid keys; the mask has no element for the last key.
  const std::string model = R"(
g (float[2, 1, 1, 1] Q, float[2, 1, 4, 1] K, float[2, 1, 4, 1] V,
   bool[1, 3] M, int64[2] L) => (float[2, 1, 1, 1] Y) {
  Y = Attention (Q, K, V, M, , , L)
})";
  EXPECT_THAT(
      RunOnnxValues(model, 24,
                    {Zeros({2, 1, 1, 1}), Zeros({2, 1, 4, 1}),
                     F32({2, 1, 4, 1}, {1, 2, 4, 8, 16, 32, 64, 128}),
                     HostTensor::FromInts(DType::kBool, {1, 3}, {1, 1, 0}), I64({2}, {1, 3})}),
      Near({1, 24}));
}

TEST(AttentionTest, CausalQueriesStandAtTheEndOfTheValidKeys) {
  // Two queries; with three valid keys they stand at 1 and 2, with one at -1
  // and 0: the first of those sees nothing.
  const std::string model = R"(
g (float[2, 1, 2, 1] Q, float[2, 1, 4, 1] K, float[2, 1, 4, 1] V, int64[2] L)
    => (float[2, 1, 2, 1] Y, float[2, 1, 2, 4] P) {
  Y, , , P = Attention <is_causal = 1, qk_matmul_output_mode = 3>
      (Q, K, V, , , , L)
})";
  const auto outputs =
      RunOnnx(model, 24,
              {Zeros({2, 1, 2, 1}), Zeros({2, 1, 4, 1}),
               F32({2, 1, 4, 1}, {1, 2, 4, 8, 16, 32, 64, 128}), I64({2}, {3, 1})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(outputs[0].ReadDoubles(), Near({1.5, 7.0 / 3, 0, 16}));
  const double third = 1.0 / 3;
  EXPECT_THAT(outputs[1].ReadDoubles(), Near({0.5, 0.5, 0, 0, third, third, third, 0,  //
                                              0, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(AttentionTest, WindowsEndSight) {
  const std::string model = R"(
g (float[1, 1, 3, 1] Q, float[1, 1, 3, 1] K, float[1, 1, 3, 1] V)
    => (float[1, 1, 3, 1] Y) {
  Y = Attention <left_window_size = 1, right_window_size = %> (Q, K, V)
})";
  const auto run = [&](const std::string& right) {
    const std::string text = Fill(model, right);
    return RunOnnxValues(text, 25,
                         {Zeros({1, 1, 3, 1}), Zeros({1, 1, 3, 1}), F32({1, 1, 3, 1}, {1, 2, 4})});
  };
  EXPECT_THAT(run("0"), Near({1, 1.5, 3}));
  EXPECT_THAT(run("1"), Near({1.5, 7.0 / 3, 3}));
}

TEST(AttentionTest, ShowsTheMatrixThatTheModeNames) {
  const std::string model = R"(
g (float[1, 1, 1, 1] Q, float[1, 1, 2, 1] K, float[1, 1, 2, 1] V, float[1, 2] M)
    => (float[1, 1, 1, 1] Y, float[1, 1, 1, 2] P) {
  Y, , , P = Attention <scale = 4.0, softcap = 8.0, qk_matmul_output_mode = %>
      (Q, K, V, M)
})";
  const auto run = [&](const std::string& mode) {
    const std::string text = Fill(model, mode);
    const auto outputs = RunOnnx(text, 23,
                                 {F32({1, 1, 1, 1}, {1}), F32({1, 1, 2, 1}, {2, 0}),
                                  F32({1, 1, 2, 1}, {1, 2}), F32({1, 2}, {1, 3})});
    return outputs.size() == 2 ? outputs[1].ReadDoubles() : std::vector<double>();
  };
  const double capped = 8 * std::tanh(1.0);
  const double p = 1 / (1 + std::exp(3 - (capped + 1)));
  EXPECT_THAT(run("0"), Near({8, 0}));
  EXPECT_THAT(run("1"), Near({capped, 0}));
  EXPECT_THAT(run("2"), Near({capped + 1, 3}));
  EXPECT_THAT(run("3"), Near({p, 1 - p}));
}

TEST(AttentionTest, BecomesOneOpWhereThatSaysTheSame) {
  const std::string text = ImportToText(R"(
g (float[B, 2, S, 8] Q, float[B, 2, S, 8] K, float[B, 2, S, 8] V)
    => (float[B, 2, S, 8] Y) {
  Y = Attention <is_causal = 1> (Q, K, V)
})",
                                        23);
  EXPECT_THAT(text, HasSubstr("scaled_dot_product_attention(%Q, %K, %V, none, "
                              "is_causal=true"));
  EXPECT_THAT(text, Not(HasSubstr("softmax")));
  // A softmax in less than the op computes in is another program.
  EXPECT_THAT(ImportToText(R"(
g (float[B, 2, S, 8] Q, float[B, 2, S, 8] K, float[B, 2, S, 8] V)
    => (float[B, 2, S, 8] Y) {
  Y = Attention <softmax_precision = 10> (Q, K, V)
})",
                           23),
              HasSubstr("softmax"));
}

TEST(AttentionTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(ImportToText(R"(
g (float[1, 2, 4] Q, float[1, 2, 4] K, float[1, 2, 4] V) => (float[1, 2, 4] Y) {
  Y = Attention (Q, K, V)
})",
                           23),
              HasSubstr("\"q_num_heads\" is missing"));
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 2, 4] Q, float[1, 1, 2, 4] K, float[1, 1, 2, 4] V)
    => (float[1, 1, 2, 4] Y) {
  Y = Attention (Q, K, V, , K)
})",
                           23),
              HasSubstr("past_key and past_value come together"));
}

// --- LinearAttention, CausalConvWithState ------------------------------------

TEST(LinearAttentionTest, FollowsItsUpdateRule) {
  const auto run = [](const std::string& rule, const std::string& gates) {
    const auto outputs = RunOnnx(
        R"(
g (float[1, 2, 2] Q, float[1, 2, 1] K, float[1, 2, 1] V, float[1, 2, 1] G,
   float[1, 2, 1] B) => (float[1, 2, 2] Y, float[1, 1, 1, 1] S) {
  Y, S = LinearAttention <q_num_heads = 2, kv_num_heads = 1, scale = 1.0,
                          update_rule = ")" +
            rule + R"("> (Q, K, V, , )" + gates + R"()
})",
        27,
        {F32({1, 2, 2}, {1, -1, 1, 2}), F32({1, 2, 1}, {1, 2}), F32({1, 2, 1}, {3, 5}),
         F32({1, 2, 1}, {std::log(0.5), std::log(0.5)}), F32({1, 2, 1}, {0.5, 0.5})});
    std::vector<double> values;
    for (const HostTensor& t : outputs) {
      for (double v : t.ReadDoubles()) values.push_back(v);
    }
    return values;
  };
  // States 3 and 3 + 2 * 5; the queries scale them. Then the state.
  EXPECT_THAT(run("linear", ","), Near({3, -3, 13, 26, 13}));
  EXPECT_THAT(run("gated", "G"), Near({3, -3, 11.5, 23, 11.5}));
  // 1.5, which holds 3 for the second key; half of the way to 5 is 1.
  EXPECT_THAT(run("delta", ", B"), Near({1.5, -1.5, 3.5, 7, 3.5}));
  // 1.5 decays to 0.75 and holds 1.5; half of the way is 1.75.
  EXPECT_THAT(run("gated_delta", "G, B"), Near({1.5, -1.5, 4.25, 8.5, 4.25}));
}

TEST(LinearAttentionTest, StartsFromThePastState) {
  const auto outputs = RunOnnx(R"(
g (float[1, 1, 1] Q, float[1, 1, 1] K, float[1, 1, 2] V, float[1, 1, 1, 2] P)
    => (float[1, 1, 2] Y, float[1, 1, 1, 2] S) {
  Y, S = LinearAttention <q_num_heads = 1, kv_num_heads = 1,
                          update_rule = "linear"> (Q, K, V, P)
})",
                               27,
                               {F32({1, 1, 1}, {2}), F32({1, 1, 1}, {1}), F32({1, 1, 2}, {3, 4}),
                                F32({1, 1, 1, 2}, {10, 20})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(outputs[0].ReadDoubles(), Near({26, 48}));
  EXPECT_THAT(outputs[1].ReadDoubles(), Near({13, 24}));
}

TEST(CausalConvTest, SeesThePastAndKeepsTheEnd) {
  const auto outputs =
      RunOnnx(R"(
g (float[1, 1, 3] X, float[1, 1, 2] W, float[1, 1, 1] P)
    => (float[1, 1, 3] Y, float[1, 1, 1] S) {
  Y, S = CausalConvWithState (X, W, , P)
})",
              27, {F32({1, 1, 3}, {1, 2, 3}), F32({1, 1, 2}, {10, 1}), F32({1, 1, 1}, {5})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(51, 12, 23));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(3));
}

// --- RotaryEmbedding ------------------------------------------------------------------

TEST(RotaryEmbeddingTest, RotatesByCachedPositions) {
  // Position 1 turns by a quarter: (u, v) becomes (-v, u).
  const std::string model = R"(
g (float[1, 2, 6] X, float[2, 1] C, float[2, 1] S, int64[1, 2] P)
    => (float[1, 2, 6] Y) {
  Y = RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 2> (X, C, S, P)
})";
  EXPECT_THAT(RunOnnxValues(model, 23,
                            {F32({1, 2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                             F32({2, 1}, {1, 0}), F32({2, 1}, {0, 1}), I64({1, 2}, {1, 0})}),
              ElementsAre(-2, 1, 3, -5, 4, 6, 7, 8, 9, 10, 11, 12));
}

TEST(RotaryEmbeddingTest, PairsHalvesOrNeighbours) {
  const std::string model = R"(
g (float[1, 1, 1, 4] X, float[1, 1, 2] C, float[1, 1, 2] S)
    => (float[1, 1, 1, 4] Y) {
  Y = RotaryEmbedding <interleaved = %> (X, C, S)
})";
  const auto run = [&](const std::string& interleaved) {
    const std::string text = Fill(model, interleaved);
    return RunOnnxValues(
        text, 23,
        {F32({1, 1, 1, 4}, {1, 2, 3, 4}), F32({1, 1, 2}, {0, 1}), F32({1, 1, 2}, {1, 0})});
  };
  EXPECT_THAT(run("0"), ElementsAre(-3, 2, 1, 4));
  EXPECT_THAT(run("1"), ElementsAre(-2, 1, 3, 4));
}

// --- FlexAttention ------------------------------------------------------------------------

TEST(AttentionTest, FlexAttentionPassesScoresAndProbabilitiesThroughGraphs) {
  // Scores of zeros plus the graph's: log 3 for the first key, so that it gets 3/4. Doubled.
  const std::string model = R"(
g (double[1, 1, 1, 1] Q, double[1, 1, 2, 1] K, double[1, 1, 2, 1] V)
    => (double[1, 1, 1, 1] Y) {
  Y = ai.onnx.preview.FlexAttention <
    score_mod = s (double[B, H, L, S] scores) => (double[B, H, L, S] more) {
      zeros = Constant <value = double[1, 1, 1, 2] {1.0986122886681098, 0.0}> ()
      more = Add(scores, zeros)
    },
    prob_mod = p (double[B, H, L, S] probs) => (double[B, H, L, S] twice) {
      twice = Add(probs, probs)
    }> (Q, K, V)
})";
  const auto f64 = [](std::vector<int64_t> dims, std::vector<double> values) {
    return HostTensor::FromDoubles(DType::kF64, dims, values);
  };
  EXPECT_THAT(
      RunOnnxValues(model, 26,
                    {f64({1, 1, 1, 1}, {0}), f64({1, 1, 2, 1}, {7, 9}), f64({1, 1, 2, 1}, {4, 8})}),
      Near({10}));
}

TEST(AttentionTest, FlexAttentionSharesHeadsAndBecomesTheFusedOp) {
  const std::string model = R"(
g (float[1, 2, 1, 1] Q, float[1, 1, 2, 1] K, float[1, 1, 2, 1] V) => (float[1, 2, 1, 1] Y) {
  Y = ai.onnx.preview.FlexAttention <scale = 1.0> (Q, K, V)
})";
  EXPECT_THAT(ImportToText(model, 26), HasSubstr("scaled_dot_product_attention"));
  EXPECT_THAT(RunOnnxValues(model, 26,
                            {F32({1, 2, 1, 1}, {0, 100}), F32({1, 1, 2, 1}, {0, 1}),
                             F32({1, 1, 2, 1}, {4, 8})}),
              Near({6, 8}));
}

TEST(AttentionTest, FlexAttentionRefusesGraphsThatChangeTheType) {
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 1, 1] Q, float[1, 1, 2, 1] K, float[1, 1, 2, 1] V) => (float[1, 1, 1, 1] Y) {
  Y = ai.onnx.preview.FlexAttention <
    score_mod = s (float[B, H, L, S] scores) => (double[B, H, L, S] more) {
      more = Cast <to = 11> (scores)
    }> (Q, K, V)
})",
                           26),
              HasSubstr("score_mod makes f64[1, 1, 1, 2] of f32[1, 1, 1, 2]"));
}

}  // namespace
}  // namespace weft
