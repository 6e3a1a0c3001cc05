// Attention on the emulated driver, compared with the reference.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/tensor/dtype.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Problem {
  DType dtype = DType::kF32;
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, features = 8, value_features = 8;
  int64_t key_heads = 0;  // 0: as many as those of queries.
  std::string mask;       // Its type without the dtype: "[4, 5]"; "bool[..]" for bools.
  std::string attrs;      // ", is_causal=true"
};

double AttentionTolerance(DType dtype) {
  return dtype == DType::kF32 ? 2e-5 : dtype == DType::kF16 ? 2e-3 : 0.01;
}

// Attention to dense operands, on the GPU.
void ExpectAttention(const Problem& p, const std::vector<HostTensor>& masks = {}) {
  const std::string type(DTypeName(p.dtype));
  const int64_t key_heads = p.key_heads == 0 ? p.heads : p.key_heads;
  const std::string mask = p.mask.empty()     ? ""
                           : p.mask[0] == '[' ? absl::StrCat(type, p.mask)
                                              : p.mask;
  EmulatedProgram program(absl::StrCat(
      "func @main(%q: ", type, "[", p.batch, ", ", p.heads, ", ", p.queries, ", ", p.features,
      "], %k: ", type, "[", p.batch, ", ", key_heads, ", ", p.keys, ", ", p.features,
      "], %v: ", type, "[", p.batch, ", ", key_heads, ", ", p.keys, ", ", p.value_features, "]",
      mask.empty() ? "" : absl::StrCat(", %m: ", mask), ") -> ", type, "[", p.batch, ", ", p.heads,
      ", ", p.queries, ", ", p.value_features,
      "] {\n %0 = scaled_dot_product_attention(%q, %k, %v, ", mask.empty() ? "none" : "%m",
      p.key_heads > 0 ? ", enable_gqa=true" : "", p.attrs, ")\n return %0\n}"));
  std::vector<HostTensor> inputs = {Ramp({p.batch, p.heads, p.queries, p.features}, p.dtype),
                                    Ramp({p.batch, key_heads, p.keys, p.features}, p.dtype),
                                    Ramp({p.batch, key_heads, p.keys, p.value_features}, p.dtype)};
  inputs.insert(inputs.end(), masks.begin(), masks.end());
  program.ExpectAsReference(inputs, AttentionTolerance(p.dtype));
  for (const auto& [name, value] : program.counters()) {
    if (name == "host_steps") {
      EXPECT_EQ(value, 0);
    }
  }
}

// A tensor with the values of a function of the index.
template <typename F>
HostTensor Made(std::vector<int64_t> dims, DType dtype, F value) {
  HostTensor t(dtype, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = value(static_cast<int64_t>(i));
  t.WriteDoubles(values);
  return t;
}

constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

TEST(CudaAttention, TilesOfAllSizes) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    ExpectAttention({dtype, 1, 2, 5, 7, 8, 8});
    ExpectAttention({dtype, 1, 1, 16, 128, 64, 64});
    ExpectAttention({dtype, 1, 1, 17, 65, 24, 40});
    // Many heads: tiles of many queries.
    ExpectAttention({dtype, 2, 66, 33, 70, 16, 32});
    ExpectAttention({dtype, 1, 66, 130, 66, 8, 8});
  }
  ExpectAttention({DType::kBF16, 1, 132, 70, 67, 80, 80});
  ExpectAttention({DType::kF32, 1, 132, 66, 40, 72, 72});
  ExpectAttention({DType::kBF16, 1, 132, 64, 40, 160, 200});
  ExpectAttention({DType::kF32, 1, 132, 20, 40, 136, 200});
}

TEST(CudaAttention, FeaturesThatDoNotFitTiles) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    // Odd numbers are read element by element.
    ExpectAttention({dtype, 1, 3, 6, 9, 5, 3});
    ExpectAttention({dtype, 1, 3, 6, 9, 12, 20});
    ExpectAttention({dtype, 1, 1, 3, 300, 260, 5});
    ExpectAttention({dtype, 1, 1, 3, 9, 4, 1100});
  }
}

TEST(CudaAttention, SplitsKeysOfFewQueries) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    ExpectAttention({dtype, 1, 3, 1, 700, 32, 32});
    ExpectAttention({dtype, 2, 2, 9, 1030, 16, 24});
    ExpectAttention({dtype, 1, 1, 5, 1030, 16, 16, 0, "", ", is_causal=true"});
  }
}

TEST(CudaAttention, CausalQueriesSeeNoLaterKey) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    ExpectAttention({dtype, 1, 2, 50, 50, 16, 16, 0, "", ", is_causal=true"});
    ExpectAttention({dtype, 1, 2, 50, 20, 16, 16, 0, "", ", is_causal=true"});
    ExpectAttention({dtype, 1, 66, 140, 150, 8, 8, 0, "", ", is_causal=true"});
    ExpectAttention({dtype, 1, 3, 4, 9, 260, 4, 0, "", ", is_causal=true"});
  }
}

TEST(CudaAttention, HeadsShareKeys) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    ExpectAttention({dtype, 2, 6, 10, 20, 16, 16, 2});
    ExpectAttention({dtype, 2, 6, 1, 20, 16, 16, 2});
    ExpectAttention({dtype, 2, 6, 1, 20, 16, 16, 2, "", ", is_causal=true"});
    ExpectAttention({dtype, 2, 6, 1, 20, 16, 16, 3, "[2, 6, 1, 20]"}, {Ramp({2, 6, 1, 20}, dtype)});
    ExpectAttention({dtype, 1, 4, 3, 300, 260, 4, 1});
  }
}

TEST(CudaAttention, MasksBroadcast) {
  const struct {
    const char* text;
    std::vector<int64_t> dims;
  } kMasks[] = {{"[20, 37]", {20, 37}},
                {"[2, 1, 1, 37]", {2, 1, 1, 37}},
                {"[3, 20, 1]", {3, 20, 1}},
                {"[2, 3, 20, 37]", {2, 3, 20, 37}},
                {"[37]", {37}},
                {"[]", {}}};
  for (const DType dtype : kDTypes) {
    for (const auto& mask : kMasks) {
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), mask.text));
      ExpectAttention({dtype, 2, 3, 20, 37, 16, 16, 0, mask.text}, {Ramp(mask.dims, dtype)});
      const HostTensor seen = Made(mask.dims, DType::kBool, [](int64_t i) { return i % 3 != 1; });
      ExpectAttention({dtype, 2, 3, 20, 37, 16, 16, 0, absl::StrCat("bool", mask.text)}, {seen});
    }
    ExpectAttention({dtype, 1, 3, 4, 19, 260, 16, 0, "[4, 19]"}, {Ramp({4, 19}, dtype)});
  }
}

TEST(CudaAttention, QueriesThatSeeNothingGiveZero) {
  for (const DType dtype : kDTypes) {
    for (const int64_t features : {16, 260}) {
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), features));
      // Rows 0 and 2 see nothing; row 3 sees only the last key.
      const auto sees = [](int64_t i) {
        return i / 150 == 3 ? i % 150 == 149 : i / 150 != 0 && i / 150 != 2;
      };
      ExpectAttention({dtype, 1, 2, 5, 150, features, 16, 0, "bool[5, 150]"},
                      {Made({5, 150}, DType::kBool, sees)});
      ExpectAttention(
          {dtype, 1, 2, 5, 150, features, 16, 0, "[5, 150]", ", is_causal=true"},
          {Made({5, 150}, dtype, [&](int64_t i) { return sees(i) || i == 301 ? 0.25 : -kInf; })});
      ExpectAttention({dtype, 1, 2, 5, 0, features, 16});
    }
  }
}

TEST(CudaAttention, ScalesAndCaps) {
  for (const DType dtype : kDTypes) {
    for (const char* attrs : {", scale=0.5", ", scale=-2.0", ", scale=0.0", ", softcap=0.5",
                              ", scale=3.0, softcap=2.0, is_causal=true"}) {
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), attrs));
      ExpectAttention({dtype, 1, 2, 9, 30, 16, 16, 0, "", attrs});
      ExpectAttention({dtype, 1, 2, 9, 30, 260, 16, 0, "", attrs});
    }
  }
}

// Large scores in every tile: sums of earlier tiles are rescaled.
TEST(CudaAttention, LargestScoresGrow) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    for (const int64_t heads : {1, 140}) {
      EmulatedProgram program(absl::StrCat(
          "func @main(%q: ", DTypeName(dtype), "[", heads, ", 65, 8], %k: ", DTypeName(dtype), "[",
          heads, ", 300, 8], %v: ", DTypeName(dtype), "[", heads, ", 300, 8]) -> ",
          DTypeName(dtype), "[", heads, ", 65, 8] {\n",
          "%0 = scaled_dot_product_attention(%q, %k, %v, none, scale=1.0)\n return %0\n}"));
      const auto key = [](int64_t i) {
        const int64_t row = i / 8 % 300;
        return i % 8 == 0 ? static_cast<double>(row * row % 311) / 16 : 0.0;
      };
      program.ExpectAsReference(
          {Made({heads, 65, 8}, dtype, [](int64_t i) { return i / 8 % 2 == 0 ? 2.0 : -2.0; }),
           Made({heads, 300, 8}, dtype, key), Ramp({heads, 300, 8}, dtype)},
          AttentionTolerance(dtype));
    }
  }
}

TEST(CudaAttention, NaNAndInfinityStayInTheirRows) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    const std::string type(DTypeName(dtype));
    EmulatedProgram program(absl::StrCat(
        "func @main(%q: ", type, "[20, 8], %k: ", type, "[40, 8], %v: ", type, "[40, 8]) -> ", type,
        "[20, 8] {\n %0 = scaled_dot_product_attention(%q, %k, %v, none)\n", " return %0\n}"));
    HostTensor q = Made({20, 8}, dtype, [](int64_t i) {
      return i / 8 == 3 ? std::nan("") : i / 8 == 7 ? kInf : 0.25 + static_cast<double>(i % 8) / 8;
    });
    HostTensor k = Made({40, 8}, dtype, [](int64_t i) { return static_cast<double>(i % 13) / 13; });
    program.ExpectAsReference({q, k, Ramp({40, 8}, dtype)}, AttentionTolerance(dtype));
  }
}

// BERT's heads: views of [batch, length, heads * features], and sizes that change.
TEST(CudaAttention, PermutedViewsWithSymbolicSizes) {
  for (const DType dtype : kDTypes) {
    const std::string type(DTypeName(dtype));
    SCOPED_TRACE(type);
    EmulatedProgram program(absl::StrCat(
        "func @main(%q: ", type, "[s0, s1, 48], %k: ", type, "[s0, s2, 48], %v: ", type,
        "[s0, s2, 48], %m: ", type, "[s0, 1, 1, s2]) -> ", type,
        "[s0, s1, 48] where 1 <= s0, 1 <= s1, 1 <= s2 {\n",
        "%0 = reshape(%q, size=[s0, s1, 3, 16])\n %1 = permute(%0, dims=[0, 2, 1, 3])\n",
        "%2 = reshape(%k, size=[s0, s2, 3, 16])\n %3 = permute(%2, dims=[0, 2, 1, 3])\n",
        "%4 = reshape(%v, size=[s0, s2, 3, 16])\n %5 = permute(%4, dims=[0, 2, 1, 3])\n",
        "%6 = scaled_dot_product_attention(%1, %3, %5, %m)\n",
        "%7 = permute(%6, dims=[0, 2, 1, 3])\n %8 = reshape(%7, size=[s0, s1, 48])\n",
        "return %8\n}"));
    const struct {
      int64_t batch, queries, keys;
    } kSizes[] = {{1, 1, 1}, {2, 17, 33}, {3, 64, 20}, {1, 1, 600}, {46, 33, 65}};
    for (const auto& s : kSizes) {
      program.ExpectAsReference(
          {Ramp({s.batch, s.queries, 48}, dtype), Ramp({s.batch, s.keys, 48}, dtype),
           Ramp({s.batch, s.keys, 48}, dtype), Ramp({s.batch, 1, 1, s.keys}, dtype)},
          AttentionTolerance(dtype));
    }
  }
}

// Parts of one tensor, columns with gaps, keys and a mask that broadcast.
TEST(CudaAttention, SlicesAndExpandedViews) {
  for (const DType dtype : kDTypes) {
    const std::string type(DTypeName(dtype));
    SCOPED_TRACE(type);
    EmulatedProgram program(absl::StrCat("func @main(%x: ", type, "[21, 2, 3, 36], %k: ", type,
                                         "[25, 24], %m: ", type, "[21, 25]) -> (", type,
                                         "[2, 21, 12], ", type, "[2, 21, 12]) {\n", R"(
        %0 = slice(%x, dim=2, start=1, end=2)
        %1 = reshape(%0, size=[21, 2, 36])
        %2 = permute(%1, dims=[1, 0, 2])
        %3 = slice(%2, dim=2, start=5, end=17)
        %4 = slice(%k, dim=1, start=0, end=24, step=2)
        %5 = expand(%4, size=[2, 25, 12])
        %6 = slice(%2, dim=2, start=12, end=36, step=2)
        %7 = scaled_dot_product_attention(%3, %5, %5, %m)
        %8 = scaled_dot_product_attention(%3, %6, %3, none)
        return %7, %8
      })"));
    program.ExpectAsReference(
        {Ramp({21, 2, 3, 36}, dtype), Ramp({25, 24}, dtype), Ramp({21, 25}, dtype)},
        AttentionTolerance(dtype));
  }
}

TEST(CudaAttention, NoQueriesHeadsOrValues) {
  ExpectAttention({DType::kF32, 0, 2, 3, 4, 8, 8});
  ExpectAttention({DType::kBF16, 1, 2, 0, 4, 8, 8});
  ExpectAttention({DType::kBF16, 1, 2, 3, 4, 8, 0});
  ExpectAttention({DType::kF32, 1, 2, 3, 4, 0, 8, 0, "", ", scale=1.0"});
  ExpectAttention({DType::kBF16, 1, 2, 3, 4, 0, 8, 0, "", ", scale=1.0"});
}

}  // namespace
}  // namespace weft::cuda
