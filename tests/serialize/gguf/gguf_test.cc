// GGUF files: metadata, tensors of each type that is read, and files that are broken.
#include "serialize/gguf/gguf.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serialize/gguf/gguf_bytes.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum : uint32_t { kF32 = 0, kF16 = 1, kQ4 = 2, kQ8 = 8, kQ8K = 15, kMxFp4 = 39 };

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

// --- Formats whose bits lie apart: blocks of pseudo-random bytes, read once more by loops over the
// bytes, each of which says which elements it has a part in.

float Half(const std::string& bytes, size_t at) {
  uint16_t bits;
  std::memcpy(&bits, bytes.data() + at, sizeof bits);
  return static_cast<float>(DecodeFloat(DType::kF16, bits));
}

int At(const std::string& bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

// Two blocks, in whose halves at `halves` are finite numbers.
std::string RandomBlocks(size_t bytes, const std::vector<size_t>& halves) {
  uint32_t state = 12345;
  std::string data;
  for (size_t i = 0; i < 2 * bytes; ++i) {
    state = state * 1664525 + 1013904223;
    data += static_cast<char>(state >> 24);
  }
  for (const size_t at : halves) {
    for (int block = 0; block < 2; ++block) {
      // Exponents from 2^-7 to 2^0.
      char& high = data[block * bytes + at + 1];
      high = static_cast<char>((high & 0x9f) | 0x20);
    }
  }
  return data;
}

using Elements = std::vector<float>;

// The elements of the tensor of those blocks, multiplied and added as f32.
Elements Loaded(uint32_t type, int64_t elements, const std::string& data) {
  const GgufWeight w = Load({"w", {2, elements}, type, data});
  const std::vector<double> values = w.values.ReadDoubles(), scales = w.scales.ReadDoubles();
  const std::vector<double> offsets =
      w.offsets.valid() ? w.offsets.ReadDoubles() : std::vector<double>(scales.size(), 0);
  Elements made;
  for (size_t i = 0; i < values.size(); ++i) {
    const float product = static_cast<float>(values[i] * scales[i / w.block]);
    made.push_back(product + static_cast<float>(offsets[i / w.block]));
  }
  return made;
}

template <typename Read>
Elements ReadAgain(const std::string& data, size_t bytes, Read read) {
  Elements made;
  for (int block = 0; block < 2; ++block) {
    const Elements elements = read(data.substr(block * bytes, bytes));
    made.insert(made.end(), elements.begin(), elements.end());
  }
  return made;
}

TEST(Gguf, ReadsQ4AndQ5WithMinimums) {
  const std::string q4 = RandomBlocks(20, {0, 2});
  EXPECT_EQ(Loaded(3, 32, q4), ReadAgain(q4, 20, [](const std::string& b) {
              Elements e(32);
              for (int i = 0; i < 16; ++i) {
                e[i] = Half(b, 0) * (At(b, 4 + i) % 16) + Half(b, 2);
                e[16 + i] = Half(b, 0) * (At(b, 4 + i) / 16) + Half(b, 2);
              }
              return e;
            }));
  const auto five = [](const std::string& b, size_t at) {
    std::vector<int> q(32);
    const int high = At(b, at) | At(b, at + 1) << 8 | At(b, at + 2) << 16;
    const int64_t bits = high | static_cast<int64_t>(At(b, at + 3)) << 24;
    for (int i = 0; i < 16; ++i) {
      q[i] = At(b, at + 4 + i) % 16 + (bits >> i & 1 ? 16 : 0);
      q[16 + i] = At(b, at + 4 + i) / 16 + (bits >> (16 + i) & 1 ? 16 : 0);
    }
    return q;
  };
  const std::string q5 = RandomBlocks(22, {0});
  EXPECT_EQ(Loaded(6, 32, q5), ReadAgain(q5, 22, [&](const std::string& b) {
              Elements e;
              for (const int q : five(b, 2)) e.push_back(Half(b, 0) * (q - 16));
              return e;
            }));
  const std::string q51 = RandomBlocks(24, {0, 2});
  EXPECT_EQ(Loaded(7, 32, q51), ReadAgain(q51, 24, [&](const std::string& b) {
              Elements e;
              for (const int q : five(b, 4)) e.push_back(Half(b, 0) * q + Half(b, 2));
              return e;
            }));
}

TEST(Gguf, ReadsTwoAndThreeBits) {
  const std::string two = RandomBlocks(84, {80, 82});
  EXPECT_EQ(Loaded(10, 256, two), ReadAgain(two, 84, [](const std::string& b) {
              Elements e;
              int group = 0;
              for (int half = 0; half < 2; ++half) {
                for (int shift = 0; shift < 8; shift += 2) {
                  for (int part = 0; part < 2; ++part, ++group) {
                    const float d = Half(b, 80) * (At(b, group) % 16);
                    const float m = Half(b, 82) * (At(b, group) / 16);
                    for (int i = 0; i < 16; ++i) {
                      e.push_back(d * (At(b, 16 + half * 32 + part * 16 + i) >> shift & 3) - m);
                    }
                  }
                }
              }
              return e;
            }));
  const std::string three = RandomBlocks(110, {108});
  EXPECT_EQ(Loaded(11, 256, three), ReadAgain(three, 110, [](const std::string& b) {
              // The low four bits of scales 0 to 7 and 8 to 15, then the high two of 0, 4, 8, 12.
              std::vector<int> scales(16);
              for (int i = 0; i < 8; ++i) {
                scales[i] = At(b, 96 + i) % 16;
                scales[8 + i] = At(b, 96 + i) / 16;
              }
              for (int i = 0; i < 4; ++i) {
                for (int k = 0; k < 4; ++k) scales[4 * k + i] += (At(b, 104 + i) >> 2 * k & 3) * 16;
              }
              Elements e;
              int mask = 1;
              for (int half = 0; half < 2; ++half) {
                for (int shift = 0; shift < 8; shift += 2, mask *= 2) {
                  for (int i = 0; i < 32; ++i) {
                    const int low = At(b, 32 + half * 32 + i) >> shift & 3;
                    const int q = low - ((At(b, i) & mask) != 0 ? 0 : 4);
                    const int scale = scales[e.size() / 16] - 32;
                    e.push_back(Half(b, 108) * scale * q);
                  }
                }
              }
              return e;
            }));
}

// Scales and minimums of eight groups in twelve bytes.
void SixBits(const std::string& b, size_t at, int* scales, int* minimums) {
  for (int i = 0; i < 4; ++i) {
    scales[i] = At(b, at + i) % 64;
    minimums[i] = At(b, at + 4 + i) % 64;
    scales[4 + i] = At(b, at + 8 + i) % 16 + At(b, at + i) / 64 * 16;
    minimums[4 + i] = At(b, at + 8 + i) / 16 + At(b, at + 4 + i) / 64 * 16;
  }
}

TEST(Gguf, ReadsFourAndFiveBitsWithMinimums) {
  for (const bool five : {false, true}) {
    const size_t bytes = five ? 176 : 144, numbers = five ? 48 : 16;
    const std::string data = RandomBlocks(bytes, {0, 2});
    EXPECT_EQ(Loaded(five ? 13 : 12, 256, data), ReadAgain(data, bytes, [&](const std::string& b) {
                int scales[8], minimums[8];
                SixBits(b, 4, scales, minimums);
                Elements e(256);
                for (int byte = 0; byte < 128; ++byte) {
                  const int pair = byte / 32, i = byte % 32;
                  int q[2] = {At(b, numbers + byte) % 16, At(b, numbers + byte) / 16};
                  for (int k = 0; k < 2; ++k) {
                    const int group = 2 * pair + k;
                    if (five && (At(b, 16 + i) & 1 << group) != 0) q[k] += 16;
                    e[group * 32 + i] =
                        Half(b, 0) * scales[group] * q[k] - Half(b, 2) * minimums[group];
                  }
                }
                return e;
              }));
  }
}

TEST(Gguf, ReadsSixBits) {
  const std::string data = RandomBlocks(210, {208});
  EXPECT_EQ(Loaded(14, 256, data), ReadAgain(data, 210, [](const std::string& b) {
              Elements e(256);
              for (int half = 0; half < 2; ++half) {
                for (int i = 0; i < 32; ++i) {
                  const int low = At(b, half * 64 + i), next = At(b, half * 64 + 32 + i);
                  const int high = At(b, 128 + half * 32 + i);
                  const int q[4] = {low % 16 + high % 4 * 16, next % 16 + high / 4 % 4 * 16,
                                    low / 16 + high / 16 % 4 * 16, next / 16 + high / 64 * 16};
                  for (int k = 0; k < 4; ++k) {
                    const int at = half * 128 + k * 32 + i;
                    const int scale = static_cast<signed char>(b[192 + at / 16]);
                    e[at] = Half(b, 208) * scale * static_cast<float>(q[k] - 32);
                  }
                }
              }
              return e;
            }));
}

TEST(Gguf, ListsTypesThatItDoesNotRead) {
  GgufBytes bytes;
  bytes.tensors = {{"w", {1, 256}, kQ8K, std::string(292, '\1')}, {"v", {1}, 99, ""}};
  const auto file = Parse(bytes.Bytes());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string(LoadGguf(*file, file->tensors[0]).status().message()),
              HasSubstr("tensor 'w' is of Q8_K"));
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
