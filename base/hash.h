// Hashes of words and of text. The numbers are the same in every process and on every machine.
#ifndef WEFT_BASE_HASH_H_
#define WEFT_BASE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

// 2^64 divided by the golden ratio, made odd. Multiplying by it spreads neighbouring numbers.
inline constexpr uint64_t kGoldenRatio64 = 0x9e3779b97f4a7c15;

// The finaliser of SplitMix64. It is a bijection, and every bit of `x` changes about half of the
// bits of the result.
constexpr uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The hash of a sequence: `hash` is the hash of the words so far, `word` follows them. It may stand
// for the sequence itself where 64 bits are enough.
constexpr uint64_t HashCombine(uint64_t hash, uint64_t word) {
  return MixBits(hash * kGoldenRatio64 + word + 0x632be59bd9b4e019);
}

// The same by one multiplication, for tables that compare their keys after their hashes. Swapping
// `hash` and `word` changes nothing, and the result is 0 when they are equal.
constexpr uint64_t FastHashCombine(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kGoldenRatio64;
  return hash ^ (hash >> 29);
}

// FNV-1a. `hash` stands for the text before `text`.
inline constexpr uint64_t kFnv1aBasis = 0xcbf29ce484222325;
constexpr uint64_t Fnv1a(absl::string_view text, uint64_t hash = kFnv1aBasis) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace weft

#endif  // WEFT_BASE_HASH_H_
