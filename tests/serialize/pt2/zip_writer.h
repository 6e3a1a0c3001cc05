// Small ZIP archives, as torch writes them: stored entries, data at multiples of
// 64 bytes, sizes in data descriptors. For tests and for seeds of fuzzers.
#ifndef WEFT_TESTS_SERIALIZE_PT2_ZIP_WRITER_H_
#define WEFT_TESTS_SERIALIZE_PT2_ZIP_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft::pt2 {

class ZipWriter {
 public:
  void Add(const std::string& name, const std::string& bytes);
  // With zlib's deflate; `claimed` is what the headers say of the size, -1 the
  // truth.
  void AddDeflated(const std::string& name, const std::string& bytes, int64_t claimed = -1);
  std::string Finish() const;

 private:
  struct Entry {
    std::string name;
    std::string data;
    uint32_t crc;
    uint32_t size;
    uint16_t method;
    uint32_t offset;
  };
  void Append(Entry entry);

  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace weft::pt2

#endif  // WEFT_TESTS_SERIALIZE_PT2_ZIP_WRITER_H_
