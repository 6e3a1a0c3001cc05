#include "backends/cuda/emulate/lt_matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>
#include <vector>

namespace weft::cuda::emulate {
namespace {

template <typename To, typename From>
To Pun(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

double Load(CublasDataType type, const char* at) {
  const auto read = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case kCublasF32:
      return read(float{});
    case kCublasF64:
      return read(double{});
    case kCublasF16:
      return static_cast<float>(read(_Float16{}));
    case kCublasBF16:
      return Pun<float>(uint32_t{read(uint16_t{})} << 16);
  }
  return 0;
}

uint16_t ToBF16(float value) {
  const auto bits = Pun<uint32_t>(value);
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void Store(CublasDataType type, double value, char* at) {
  const auto write = [at](auto stored) { std::memcpy(at, &stored, sizeof stored); };
  switch (type) {
    case kCublasF32:
      return write(static_cast<float>(value));
    case kCublasF64:
      return write(value);
    case kCublasF16:
      return write(static_cast<_Float16>(static_cast<float>(value)));
    case kCublasBF16:
      return write(ToBF16(static_cast<float>(value)));
  }
}

// With 10 bits of mantissa, rounded to the nearest.
float ToTF32(float value) {
  if (!std::isfinite(value)) return value;
  const auto bits = Pun<uint32_t>(value);
  return Pun<float>((bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff});
}

class Computation {
 public:
  explicit Computation(const LtMatmul& matmul) : m_(matmul) {}
  std::string Run();

 private:
  // Element (row, column) of matrix `batch`; null after an error.
  char* Access(const char* name, const LtRegion& region, const LtLayout& layout, int64_t batch,
               int64_t row, int64_t column, bool write);
  // op(matrix), row by row.
  template <typename T>
  std::vector<T> Read(const char* name, const LtRegion& region, const LtLayout& layout,
                      bool transpose, int64_t batch);
  template <typename T>
  void Multiply(int64_t batch);
  double Finish(double value, int64_t row) const;

  const LtMatmul& m_;
  bool overlaps_ = false;  // d may lie in memory of a or b.
  std::unordered_set<const char*> read_;
  std::string error_;
};

char* Computation::Access(const char* name, const LtRegion& region, const LtLayout& layout,
                          int64_t batch, int64_t row, int64_t column, bool write) {
  if (!error_.empty()) return nullptr;
  const auto bytes = static_cast<int64_t>(BytesOf(layout.type));
  char* const at = region.first + (batch * layout.batch_offset + column * layout.ld + row) * bytes;
  const char* wrong = nullptr;
  if (at < region.begin || at + bytes > region.end) {
    wrong = "an access outside of";
  } else if (write && overlaps_ && read_.count(at) > 0) {
    wrong = "a write, over an operand, of";
  } else {
    wrong = region.shadow->Access(at, static_cast<size_t>(bytes), write, false, {});
  }
  if (wrong == nullptr) return at;
  error_ = std::string("cublasLtMatmul: ") + wrong + " matrix " + name + ", element (" +
           std::to_string(row) + ", " + std::to_string(column) + ") of batch " +
           std::to_string(batch);
  return nullptr;
}

template <typename T>
std::vector<T> Computation::Read(const char* name, const LtRegion& region, const LtLayout& layout,
                                 bool transpose, int64_t batch) {
  std::vector<T> values(layout.rows * layout.columns);
  for (int64_t c = 0; c < layout.columns; ++c) {
    for (int64_t r = 0; r < layout.rows; ++r) {
      const char* at = Access(name, region, layout, batch, r, c, false);
      if (at == nullptr) return values;
      if (overlaps_) read_.insert(at);
      T value = static_cast<T>(Load(layout.type, at));
      if (m_.compute == kCublas32FFastTF32) value = ToTF32(static_cast<float>(value));
      values[transpose ? c * layout.rows + r : r * layout.columns + c] = value;
    }
  }
  return values;
}

double Computation::Finish(double value, int64_t row) const {
  if ((m_.epilogue & kLtEpilogueBias) != 0) {
    value += Load(m_.d_layout.type, m_.bias.first + row * BytesOf(m_.d_layout.type));
  }
  if ((m_.epilogue & kLtEpilogueRelu) != 0) value = value < 0 ? 0 : value;
  if ((m_.epilogue & kLtEpilogueGelu) != 0) {
    const double inner = 0.7978845608028654 * (value + 0.044715 * value * value * value);
    value = 0.5 * value * (1 + std::tanh(inner));
  }
  return value;
}

template <typename T>
void Computation::Multiply(int64_t batch) {
  const std::vector<T> a = Read<T>("a", m_.a, m_.a_layout, m_.transpose_a, batch);
  const std::vector<T> b = Read<T>("b", m_.b, m_.b_layout, m_.transpose_b, batch);
  if (!error_.empty()) return;
  const int64_t rows = m_.d_layout.rows;
  const int64_t columns = m_.d_layout.columns;
  const auto inner = static_cast<int64_t>(a.size()) / rows;
  std::vector<T> sums(columns);
  for (int64_t r = 0; r < rows; ++r) {
    std::fill(sums.begin(), sums.end(), T{0});
    for (int64_t k = 0; k < inner; ++k) {
      const T left = a[r * inner + k];
      for (int64_t c = 0; c < columns; ++c) sums[c] += left * b[k * columns + c];
    }
    for (int64_t c = 0; c < columns; ++c) {
      double value = m_.alpha * static_cast<double>(sums[c]);
      if (m_.beta != 0) {
        const char* at = Access("c", m_.c, m_.c_layout, batch, r, c, false);
        if (at == nullptr) return;
        value += m_.beta * Load(m_.c_layout.type, at);
      }
      char* const at = Access("d", m_.d, m_.d_layout, batch, r, c, true);
      if (at == nullptr) return;
      Store(m_.d_layout.type, Finish(value, r), at);
    }
  }
}

std::string Computation::Run() {
  const auto meets = [this](const LtRegion& region) {
    return region.begin < m_.d.end && m_.d.begin < region.end;
  };
  overlaps_ = meets(m_.a) || meets(m_.b);
  if ((m_.epilogue & kLtEpilogueBias) != 0) {
    const LtLayout vector = {m_.d_layout.type, m_.d_layout.rows, 1, m_.d_layout.rows};
    Read<double>("bias", m_.bias, vector, false, 0);
  }
  for (int64_t batch = 0; batch < m_.d_layout.batches && error_.empty(); ++batch) {
    if (m_.compute == kCublas64F) {
      Multiply<double>(batch);
    } else {
      Multiply<float>(batch);
    }
  }
  return error_;
}

}  // namespace

size_t BytesOf(CublasDataType type) {
  switch (type) {
    case kCublasF32:
      return 4;
    case kCublasF64:
      return 8;
    case kCublasF16:
    case kCublasBF16:
      return 2;
  }
  return 0;
}

bool IsConsistent(const LtMatmul& m) {
  const auto rows = [](const LtLayout& l, bool transpose) {
    return transpose ? l.columns : l.rows;
  };
  const auto columns = [](const LtLayout& l, bool transpose) {
    return transpose ? l.rows : l.columns;
  };
  for (const LtLayout* l : {&m.a_layout, &m.b_layout, &m.c_layout, &m.d_layout}) {
    if (l->rows < 1 || l->columns < 1 || l->ld < l->rows || l->batches != m.d_layout.batches) {
      return false;
    }
  }
  return columns(m.a_layout, m.transpose_a) == rows(m.b_layout, m.transpose_b) &&
         rows(m.a_layout, m.transpose_a) == m.d_layout.rows &&
         columns(m.b_layout, m.transpose_b) == m.d_layout.columns &&
         m.c_layout.rows == m.d_layout.rows && m.c_layout.columns == m.d_layout.columns &&
         m.a_layout.type == m.b_layout.type && m.c_layout.type == m.d_layout.type;
}

std::string Compute(const LtMatmul& matmul) { return Computation(matmul).Run(); }

}  // namespace weft::cuda::emulate
