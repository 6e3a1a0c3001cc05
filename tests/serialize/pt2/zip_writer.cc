#include "tests/serialize/pt2/zip_writer.h"

#include <zlib.h>

#include <utility>

namespace weft::pt2 {
namespace {

constexpr uint16_t kFlags = 0x0808;  // A data descriptor; names are UTF-8.
constexpr uint16_t kVersion = 20;
constexpr size_t kAlignment = 64;

void Put16(uint32_t v, std::string* to) {
  to->push_back(static_cast<char>(v & 0xff));
  to->push_back(static_cast<char>(v >> 8 & 0xff));
}

void Put32(uint32_t v, std::string* to) {
  Put16(v & 0xffff, to);
  Put16(v >> 16, to);
}

uint32_t Crc(const std::string& bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

void ZipWriter::Append(Entry entry) {
  entry.offset = static_cast<uint32_t>(bytes_.size());
  Put32(0x04034b50, &bytes_);
  Put16(kVersion, &bytes_);
  Put16(kFlags, &bytes_);
  Put16(entry.method, &bytes_);
  Put32(0, &bytes_);                              // Time and date.
  for (int i = 0; i < 3; ++i) Put32(0, &bytes_);  // In the descriptor.
  // An extra field that pads.
  const size_t begin = bytes_.size() + 4 + entry.name.size() + 4;
  const size_t padding = (kAlignment - begin % kAlignment) % kAlignment;
  Put16(static_cast<uint32_t>(entry.name.size()), &bytes_);
  Put16(static_cast<uint32_t>(padding + 4), &bytes_);
  bytes_ += entry.name;
  Put16(0x4246, &bytes_);
  Put16(static_cast<uint32_t>(padding), &bytes_);
  bytes_.append(padding, 'Z');
  bytes_ += entry.data;
  Put32(0x08074b50, &bytes_);
  Put32(entry.crc, &bytes_);
  Put32(static_cast<uint32_t>(entry.data.size()), &bytes_);
  Put32(entry.size, &bytes_);
  entries_.push_back(std::move(entry));
}

void ZipWriter::Add(const std::string& name, const std::string& bytes) {
  Append({name, bytes, Crc(bytes), static_cast<uint32_t>(bytes.size()), 0, 0});
}

void ZipWriter::AddDeflated(const std::string& name, const std::string& bytes, int64_t claimed) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(&packed[0]);
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  const auto size = static_cast<uint32_t>(claimed < 0 ? bytes.size() : claimed);
  Append({name, packed, Crc(bytes), size, 8, 0});
}

std::string ZipWriter::Finish() const {
  std::string out = bytes_;
  const auto directory = static_cast<uint32_t>(out.size());
  for (const Entry& entry : entries_) {
    Put32(0x02014b50, &out);
    Put16(kVersion, &out);
    Put16(kVersion, &out);
    Put16(kFlags, &out);
    Put16(entry.method, &out);
    Put32(0, &out);
    Put32(entry.crc, &out);
    Put32(static_cast<uint32_t>(entry.data.size()), &out);
    Put32(entry.size, &out);
    Put16(static_cast<uint32_t>(entry.name.size()), &out);
    for (int i = 0; i < 4; ++i) Put16(0, &out);
    Put32(0, &out);
    Put32(entry.offset, &out);
    out += entry.name;
  }
  const auto end = static_cast<uint32_t>(out.size());
  Put32(0x06054b50, &out);
  Put32(0, &out);
  Put16(static_cast<uint32_t>(entries_.size()), &out);
  Put16(static_cast<uint32_t>(entries_.size()), &out);
  Put32(end - directory, &out);
  Put32(directory, &out);
  Put16(0, &out);
  return out;
}

}  // namespace weft::pt2
