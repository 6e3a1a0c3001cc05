// Fourier transforms of the lines of a tensor in f32.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_FOURIER_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_FOURIER_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernels/fourier_tile.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

// The lines of an operand or a result; strides count elements.
struct FourierView {
  std::vector<int64_t> strides;  // Of the dims of lines.
  int64_t step = 0;
  int64_t part = 0;   // From real to imaginary parts; 0: numbers are real.
  int64_t count = 0;  // Elements of a line that are read or written.
};

struct FourierShape {
  std::string name;
  int64_t length = 0;
  bool inverse = false;  // Divided by the length.
  // The operand has the first half of a spectrum, the result is real.
  bool real_inverse = false;
  std::vector<int64_t> dims;  // Of lines.
  FourierView x, y;
  int window = -1;  // Slot of a factor for each element of a line; -1: none.
  const FourierTable* table = nullptr;
};

// Most elements of a transform.
inline constexpr int64_t kMostFourierLength = int64_t{1} << 26;

std::unique_ptr<LibraryCall> MakeFourierCall(FourierShape shape, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_FOURIER_CALL_H_
