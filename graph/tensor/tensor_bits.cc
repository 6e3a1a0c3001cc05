// The bits of a HostTensor as a whole: equality and fingerprint.
#include <cstring>

#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The bytes of a contiguous tensor, and a mask of the bits of the last byte that elements use.
struct DenseBytes {
  const uint8_t* data;
  int64_t size;
  uint8_t last_mask;

  explicit DenseBytes(const HostTensor& t)
      : data(t.raw()),
        size(t.bytes()),
        last_mask(DTypeBits(t.dtype()) == 4 && t.numel() % 2 == 1 ? 0x0f : 0xff) {}
};

uint64_t HashStep(uint64_t h, uint64_t word) {
  using U128 = unsigned __int128;
  const U128 product = static_cast<U128>(h ^ word) * 0x9e3779b97f4a7c15ull;
  const uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  // The rotated state keeps bits that a factor of zero would lose.
  return folded + (h << 23 | h >> 41);
}

uint64_t HashDense(uint64_t h, const DenseBytes& bytes) {
  if (bytes.size == 0) return h;
  const int64_t words = (bytes.size - 1) / 8;  // The last byte is handled apart.
  for (int64_t i = 0; i < words; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes.data + i * 8, sizeof(word));
    h = HashStep(h, word);
  }
  const int64_t rest = bytes.size - words * 8;
  uint8_t tail[8] = {};
  std::memcpy(tail, bytes.data + words * 8, rest);
  tail[rest - 1] &= bytes.last_mask;
  uint64_t word;
  std::memcpy(&word, tail, sizeof(word));
  return HashStep(h, word);
}

uint64_t FinishHash(uint64_t h) {
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}

}  // namespace

bool HostTensor::BitEqual(const HostTensor& other) const {
  if (valid() != other.valid()) return false;
  if (!valid()) return true;
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  if (numel_ == 0) return true;
  const HostTensor mine = Contiguous();
  const HostTensor theirs = other.Contiguous();
  const DenseBytes a(mine);
  const DenseBytes b(theirs);
  if (a.data == b.data) return true;
  const int64_t last = a.size - 1;
  return std::memcmp(a.data, b.data, last) == 0 &&
         ((a.data[last] ^ b.data[last]) & a.last_mask) == 0;
}

uint64_t HostTensor::Fingerprint() const {
  if (!valid()) return 0;
  uint64_t h = HashStep(0x2545f4914f6cdd1dull, static_cast<uint64_t>(dtype_));
  h = HashStep(h, dims_.size());
  for (int64_t d : dims_) h = HashStep(h, static_cast<uint64_t>(d));
  if (numel_ == 0) return FinishHash(h);
  const HostTensor dense = Contiguous();
  return FinishHash(HashDense(h, DenseBytes(dense)));
}

}  // namespace weft
