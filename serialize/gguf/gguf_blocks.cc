#include "serialize/gguf/gguf_blocks.h"

#include <cstring>

#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr int kSuper = 256;  // Elements of a block of the types with a K.

float F16At(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return static_cast<float>(DecodeFloat(DType::kF16, bits));
}

// --- Blocks of 32 --------------------------------------------------------------------

constexpr int kHalf = 16;

// Byte i holds numbers i and i + 16.
void ReadNibbles(const uint8_t* from, GgufBlock* to) {
  for (int i = 0; i < kHalf; ++i) {
    to->codes[i] = from[i] & 15;
    to->codes[i + kHalf] = from[i] >> 4;
  }
}

// Numbers of five bits: the highest ones come first, in four bytes.
void ReadFiveBits(const uint8_t* from, GgufBlock* to) {
  ReadNibbles(from + 4, to);
  for (int i = 0; i < 2 * kHalf; ++i) to->codes[i] |= (from[i / 8] >> (i % 8) & 1) << 4;
}

// Numbers that were moved up by `middle` to have no sign.
void MoveDown(int count, int middle, GgufBlock* to) {
  for (int i = 0; i < count; ++i) to->codes[i] = static_cast<uint8_t>(to->codes[i] - middle);
}

void ReadQ4_0(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = F16At(from);
  ReadNibbles(from + 2, to);
  MoveDown(32, 8, to);
}

void ReadQ4_1(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = F16At(from);
  to->offsets[0] = F16At(from + 2);
  ReadNibbles(from + 4, to);
}

void ReadQ5_0(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = F16At(from);
  ReadFiveBits(from + 2, to);
  MoveDown(32, 16, to);
}

void ReadQ5_1(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = F16At(from);
  to->offsets[0] = F16At(from + 2);
  ReadFiveBits(from + 4, to);
}

void ReadQ8_0(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = F16At(from);
  std::memcpy(to->codes, from + 2, 32);
}

void ReadMxFp4(const uint8_t* from, GgufBlock* to) {
  to->scales[0] = static_cast<float>(DecodeFloat(DType::kF8E8M0, from[0]));
  ReadNibbles(from + 1, to);
}

// --- Blocks of 256, whose scales are numbers themselves ------------------------------

// Number i of those of two bits in 64 bytes: a byte holds four that lie 32 apart.
int TwoBits(const uint8_t* from, int i) {
  return from[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

// Number i of those of four bits in 128 bytes: a byte holds two that lie 32 apart.
int FourBits(const uint8_t* from, int i) {
  return from[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
}

// Scale and minimum of group `g` of eight, six bits each, in twelve bytes: the first four groups in
// the low bits, the others in the halves of the last four bytes and in the bits left over.
void SixBitPair(const uint8_t* from, int g, int* scale, int* minimum) {
  if (g < 4) {
    *scale = from[g] & 63;
    *minimum = from[g + 4] & 63;
  } else {
    *scale = (from[g + 4] & 15) | from[g - 4] >> 6 << 4;
    *minimum = from[g + 4] >> 4 | from[g] >> 6 << 4;
  }
}

// All products are exact: 11 bits of a half by at most 8.
void ReadScalesAndMinimums(const uint8_t* from, GgufBlock* to) {
  const float scale_unit = F16At(from), minimum_unit = F16At(from + 2);
  for (int g = 0; g < 8; ++g) {
    int scale, minimum;
    SixBitPair(from + 4, g, &scale, &minimum);
    to->scales[g] = scale_unit * static_cast<float>(scale);
    to->offsets[g] = -(minimum_unit * static_cast<float>(minimum));
  }
}

void ReadQ2_K(const uint8_t* from, GgufBlock* to) {
  const uint8_t* pairs = from;
  const float scale_unit = F16At(from + 80), minimum_unit = F16At(from + 82);
  for (int g = 0; g < 16; ++g) {
    to->scales[g] = scale_unit * static_cast<float>(pairs[g] & 15);
    to->offsets[g] = -(minimum_unit * static_cast<float>(pairs[g] >> 4));
  }
  for (int i = 0; i < kSuper; ++i) to->codes[i] = TwoBits(from + 16, i);
}

void ReadQ3_K(const uint8_t* from, GgufBlock* to) {
  const uint8_t *high = from, *scales = from + 96;
  const float unit = F16At(from + 108);
  for (int g = 0; g < 16; ++g) {
    const int low = scales[g % 8] >> (g / 8 * 4) & 15;
    const int top = scales[8 + g % 4] >> (g / 4 * 2) & 3;
    to->scales[g] = unit * static_cast<float>((low | top << 4) - 32);
  }
  // A third bit that is set keeps the number from moving down by four.
  for (int i = 0; i < kSuper; ++i) {
    const int bit = high[i % 32] >> (i / 32) & 1;
    to->codes[i] = static_cast<uint8_t>(TwoBits(from + 32, i) - (bit != 0 ? 0 : 4));
  }
}

void ReadQ4_K(const uint8_t* from, GgufBlock* to) {
  ReadScalesAndMinimums(from, to);
  for (int i = 0; i < kSuper; ++i) to->codes[i] = FourBits(from + 16, i);
}

void ReadQ5_K(const uint8_t* from, GgufBlock* to) {
  ReadScalesAndMinimums(from, to);
  for (int i = 0; i < kSuper; ++i) {
    const int bit = from[16 + i % 32] >> (i / 32) & 1;
    to->codes[i] = static_cast<uint8_t>(FourBits(from + 48, i) | bit << 4);
  }
}

void ReadQ6_K(const uint8_t* from, GgufBlock* to) {
  const uint8_t *low = from, *high = from + 128, *scales = from + 192;
  const float unit = F16At(from + 208);
  for (int g = 0; g < 16; ++g) to->scales[g] = unit * static_cast<int8_t>(scales[g]);
  for (int i = 0; i < kSuper; ++i) {
    // A byte holds two that lie 64 apart.
    const int four = low[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
    to->codes[i] = static_cast<uint8_t>(four | TwoBits(high, i) << 4);
  }
  MoveDown(kSuper, 32, to);
}

constexpr GgufBlockFormat kFormats[] = {
    {2, 32, 32, 18, DType::kI4, DType::kF16, false, ReadQ4_0},
    {3, 32, 32, 20, DType::kU4, DType::kF32, true, ReadQ4_1},
    {6, 32, 32, 22, DType::kI8, DType::kF16, false, ReadQ5_0},
    {7, 32, 32, 24, DType::kU8, DType::kF32, true, ReadQ5_1},
    {8, 32, 32, 34, DType::kI8, DType::kF16, false, ReadQ8_0},
    {10, kSuper, 16, 84, DType::kU4, DType::kF32, true, ReadQ2_K},
    {11, kSuper, 16, 110, DType::kI4, DType::kF32, false, ReadQ3_K},
    {12, kSuper, 32, 144, DType::kU4, DType::kF32, true, ReadQ4_K},
    {13, kSuper, 32, 176, DType::kU8, DType::kF32, true, ReadQ5_K},
    {14, kSuper, 16, 210, DType::kI8, DType::kF32, false, ReadQ6_K},
    {39, 32, 32, 17, DType::kF4E2M1, DType::kF8E8M0, false, ReadMxFp4},
};

}  // namespace

const GgufBlockFormat* FindGgufBlockFormat(uint32_t type) {
  for (const GgufBlockFormat& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

}  // namespace weft
