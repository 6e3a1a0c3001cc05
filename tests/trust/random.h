// Random choices of the generators; the same on every machine.
#ifndef WEFT_TESTS_TRUST_RANDOM_H_
#define WEFT_TESTS_TRUST_RANDOM_H_

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace weft::trust {

class Random {
 public:
  // Neighbouring seeds give unrelated streams.
  explicit Random(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull) {
    engine_.discard(8);
  }

  uint64_t Next() { return engine_(); }
  // In [low, high].
  int Pick(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int n) { return engine_() % n == 0; }
  // In [-1, 1), a multiple of 2^-16.
  double Unit() { return static_cast<double>(engine_() >> 47) * 0x1p-16 - 1; }

  template <typename T>
  const T& Of(const std::vector<T>& from) {
    return from[engine_() % from.size()];
  }
  template <typename T>
  T Of(std::initializer_list<T> from) {
    return *(from.begin() + engine_() % from.size());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_RANDOM_H_
