// Copies of short runs of bytes, against element by element.
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/interpreter/copy.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

RunView ViewOf(DType dtype, std::vector<int64_t> dims, std::vector<int64_t> strides) {
  RunView view;
  view.dtype = dtype;
  view.dims = std::move(dims);
  view.strides = std::move(strides);
  return view;
}

int64_t LastByte(const RunView& view) {
  int64_t last = 0;
  for (size_t d = 0; d < view.dims.size(); ++d) last += (view.dims[d] - 1) * view.strides[d];
  return (last + 1) * (DTypeBits(view.dtype) / 8);
}

void ExpectCopied(const RunView& from, const RunView& to, int64_t run) {
  const std::optional<RunCopy> copy = FindRunCopy(from, to);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->bytes, run);
  const int64_t element = DTypeBits(from.dtype) / 8;
  std::vector<char> source(LastByte(from));
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 7 + i / 256);
  std::vector<char> want(LastByte(to), 'x');
  for (int64_t i = 0; i < from.numel(); ++i) {
    int64_t left = i, at = 0, to_at = 0;
    for (size_t d = from.dims.size(); d-- > 0; left /= from.dims[d]) {
      at += left % from.dims[d] * from.strides[d];
      to_at += left % from.dims[d] * to.strides[d];
    }
    for (int64_t k = 0; k < element; ++k) want[to_at * element + k] = source[at * element + k];
  }
  for (const int threads : {1, 2}) {
    std::vector<char> got(want.size(), 'x');
    CopyRuns(*copy, threads, source.data(), got.data());
    EXPECT_EQ(got, want);
  }
}

TEST(RunCopy, HeadsOfAttention) {
  const std::vector<int64_t> dims = {1, 128, 12, 32};
  ExpectCopied(ViewOf(DType::kU8, dims, {49152, 32, 4096, 1}),
               ViewOf(DType::kU8, dims, {49152, 384, 32, 1}), 32);
}

TEST(RunCopy, RunsThatAreNoWholeVectors) {
  const std::vector<int64_t> dims = {3, 1, 5, 2, 9};
  ExpectCopied(ViewOf(DType::kI32, dims, {90, 7, 18, 9, 1}),
               ViewOf(DType::kI32, dims, {18, 1, 54, 9, 1}), 72);
}

TEST(RunCopy, LinesWithGapsAndTheFirstOneAlways) {
  const std::vector<int64_t> dims = {4, 6, 17};
  ExpectCopied(ViewOf(DType::kU8, dims, {0, 20, 1}), ViewOf(DType::kU8, dims, {17, 100, 1}), 17);
}

TEST(RunCopy, OfSeveralThreads) {
  const std::vector<int64_t> dims = {32, 64, 24};
  ExpectCopied(ViewOf(DType::kF32, dims, {24, 768, 1}), ViewOf(DType::kF32, dims, {1536, 24, 1}),
               96);
}

TEST(RunCopy, LeavesOthersAlone) {
  const std::vector<int64_t> dims = {6, 20};
  const RunView rows = ViewOf(DType::kU8, dims, {20, 1});
  EXPECT_FALSE(FindRunCopy(rows, ViewOf(DType::kU8, dims, {1, 6})));
  EXPECT_FALSE(FindRunCopy(rows, ViewOf(DType::kI8, dims, {20, 1})));
  EXPECT_FALSE(FindRunCopy(ViewOf(DType::kI4, dims, {40, 1}), ViewOf(DType::kI4, dims, {20, 1})));
  const std::vector<int64_t> narrow = {6, 15};
  EXPECT_FALSE(
      FindRunCopy(ViewOf(DType::kU8, narrow, {15, 1}), ViewOf(DType::kU8, narrow, {16, 1})));
  const std::vector<int64_t> empty = {6, 0};
  EXPECT_FALSE(FindRunCopy(ViewOf(DType::kU8, empty, {0, 1}), ViewOf(DType::kU8, empty, {0, 1})));
}

}  // namespace
}  // namespace weft::cpu
