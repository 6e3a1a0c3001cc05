// GGUF files: metadata, tensors of each type that is read, and files that are broken.
#include "serialize/gguf/gguf.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serialize/gguf/gguf_bytes.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum : uint32_t { kF32 = 0, kF16 = 1, kQ4 = 2, kQ8 = 8, kQ4K = 12, kMxFp4 = 39 };

absl::StatusOr<GgufFile> Parse(const std::string& bytes) {
  return ParseGguf(GgufBytes::Buffer(bytes));
}

std::string Error(const std::string& bytes) {
  const auto file = Parse(bytes);
  return file.ok() ? "parsed" : std::string(file.status().message());
}

GgufWeight Load(const GgufBytes::Tensor& tensor) {
  GgufBytes bytes;
  bytes.tensors = {tensor};
  const auto file = Parse(bytes.Bytes());
  EXPECT_TRUE(file.ok()) << file.status();
  const auto weight = LoadGguf(*file, file->tensors[0]);
  EXPECT_TRUE(weight.ok()) << weight.status();
  return *weight;
}

// A block of 32 numbers of 4 bits: the first 16 are low halves of bytes.
std::string Nibbles() {
  std::string data;
  for (int i = 0; i < 16; ++i) data += static_cast<char>(i | (15 - i) << 4);
  return data;
}

TEST(Gguf, ReadsMetadataAndFloats) {
  GgufBytes bytes;
  bytes.pairs = {GgufBytes::Pair("general.name", 8, GgufBytes::Text("tiny")),
                 GgufBytes::Pair("layers", 4, GgufBytes::Number<uint32_t>(7)),
                 GgufBytes::Pair("eps", 6, GgufBytes::Number(0.5f)),
                 GgufBytes::Pair("tokens", 9,
                                 GgufBytes::Number<uint32_t>(8) + GgufBytes::Number<uint64_t>(2) +
                                     GgufBytes::Text("a") + GgufBytes::Text("b"))};
  bytes.tensors = {{"w", {2, 3}, kF32, ""}, {"h", {2}, kF16, std::string("\x00\x3c\x00\xc0", 4)}};
  for (int i = 0; i < 6; ++i) bytes.tensors[0].data += GgufBytes::Number<float>(i);
  const auto file = Parse(bytes.Bytes());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("general.name"), "tiny");
  EXPECT_EQ(file->metadata.at("layers"), "7");
  EXPECT_EQ(file->metadata.at("eps"), "0.5");
  EXPECT_EQ(file->metadata.at("tokens"), "2");
  ASSERT_EQ(file->tensors.size(), 2);
  EXPECT_EQ(file->tensors[0].type_name, "F32");
  const auto w = LoadGguf(*file, file->tensors[0]);
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_THAT(w->values.dims(), ElementsAre(2, 3));
  EXPECT_THAT(w->values.ReadDoubles(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_FALSE(w->scales.valid());
  const auto h = LoadGguf(*file, file->tensors[1]);
  ASSERT_TRUE(h.ok()) << h.status();
  EXPECT_THAT(h->values.ReadDoubles(), ElementsAre(1, -2));
}

TEST(Gguf, UnpacksQ4) {
  const GgufWeight w = Load({"w", {1, 32}, kQ4, std::string("\x00\x38", 2) + Nibbles()});
  EXPECT_EQ(w.block, 32);
  EXPECT_EQ(w.values.dtype(), DType::kI4);
  EXPECT_THAT(w.scales.dims(), ElementsAre(1, 1));
  EXPECT_THAT(w.scales.ReadDoubles(), ElementsAre(0.5));
  const std::vector<int64_t> values = w.values.ReadInts();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], i - 8);
    EXPECT_EQ(values[i + 16], 7 - i);
  }
}

TEST(Gguf, ReadsQ8) {
  std::string data;
  for (int block = 0; block < 2; ++block) {
    data += block == 0 ? std::string("\x00\x3c", 2) : std::string("\x00\x40", 2);
    for (int i = 0; i < 32; ++i) data += static_cast<char>(block == 0 ? i : -i);
  }
  const GgufWeight w = Load({"w", {2, 32}, kQ8, data});
  EXPECT_THAT(w.scales.ReadDoubles(), ElementsAre(1, 2));
  const std::vector<int64_t> values = w.values.ReadInts();
  EXPECT_EQ(values[31], 31);
  EXPECT_EQ(values[63], -31);
}

TEST(Gguf, ReadsMxFp4) {
  const GgufWeight w = Load({"w", {32}, kMxFp4, std::string("\x80", 1) + Nibbles()});
  EXPECT_EQ(w.scales.dtype(), DType::kF8E8M0);
  EXPECT_THAT(w.scales.ReadDoubles(), ElementsAre(2));
  const std::vector<double> values = w.values.ReadDoubles();
  const std::vector<double> low(values.begin(), values.begin() + 16);
  EXPECT_THAT(low, ElementsAre(0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6));
  EXPECT_EQ(values[16], -6);
  EXPECT_EQ(values[31], 0);
}

TEST(Gguf, ListsTypesThatItDoesNotRead) {
  GgufBytes bytes;
  bytes.tensors = {{"w", {1, 256}, kQ4K, std::string(144, '\1')}, {"v", {1}, 99, ""}};
  const auto file = Parse(bytes.Bytes());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string(LoadGguf(*file, file->tensors[0]).status().message()),
              HasSubstr("tensor 'w' is of Q4_K"));
  EXPECT_EQ(file->tensors[1].type_name, "type 99");
}

TEST(Gguf, RefusesBrokenFiles) {
  GgufBytes good;
  good.pairs = {GgufBytes::Pair("k", 4, GgufBytes::Number<uint32_t>(1))};
  good.tensors = {{"w", {32}, kQ8, std::string(34, '\1')}};
  const std::string bytes = good.Bytes();
  ASSERT_EQ(Error(bytes), "parsed");
  // Cut anywhere: an error, or the data is missing.
  for (size_t n = 0; n < bytes.size() - 30; ++n) {
    EXPECT_NE(Error(bytes.substr(0, n)), "parsed") << n;
  }
  const auto changed = [&](auto change) {
    GgufBytes copy = good;
    change(copy);
    return Error(copy.Bytes());
  };
  EXPECT_THAT(changed([](GgufBytes& g) { g.magic = 1; }), HasSubstr("byte 4: it does not begin"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.version = 1; }), HasSubstr("version 1;"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.pairs.push_back(g.pairs[0]); }),
              HasSubstr("a second value"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.tensors.push_back(g.tensors[0]); }),
              HasSubstr("a second tensor 'w'"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.tensors[0].dims = {33}; }),
              HasSubstr("no blocks of 32"));
  EXPECT_THAT(changed([](GgufBytes& g) {
                g.tensors[0].dims = {1, 1, 1, 1, 32};
              }),
              HasSubstr("5 dims"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.tensors[0].dims = {-32}; }),
              HasSubstr("not a tensor's"));
  EXPECT_THAT(changed([](GgufBytes& g) {
                g.tensors[0].dims = {int64_t{1} << 40, int64_t{1} << 40};
              }),
              HasSubstr("not a tensor's"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.tensors[0].dims = {int64_t{1} << 40}; }),
              HasSubstr("is larger than the file"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.tensors[0].data.resize(1); }),
              HasSubstr("lies outside of the file"));
  EXPECT_THAT(changed([](GgufBytes& g) {
                g.pairs[0] =
                    GgufBytes::Pair("general.alignment", 4, GgufBytes::Number<uint32_t>(3));
              }),
              HasSubstr("no power of two"));
  EXPECT_THAT(changed([](GgufBytes& g) {
                g.pairs[0] = GgufBytes::Pair("k", 9, GgufBytes::Number<uint32_t>(9));
              }),
              HasSubstr("an array of arrays"));
  EXPECT_THAT(changed([](GgufBytes& g) {
                g.pairs[0] = GgufBytes::Pair(
                    "k", 9, GgufBytes::Number<uint32_t>(0) + GgufBytes::Number(~uint64_t{0}));
              }),
              HasSubstr("do not fit in the file"));
  EXPECT_THAT(changed([](GgufBytes& g) { g.pairs[0] = GgufBytes::Pair("k", 77, ""); }),
              HasSubstr("type 77"));
}

}  // namespace
}  // namespace weft
