#include "serialize/flat/weftb_format.h"

#include <cstddef>
#include <cstring>

#include "base/hash.h"

namespace weft {
namespace {

constexpr size_t kHeaderAt = 8;
constexpr size_t kHashAt = 32;
constexpr size_t kHashEnd = kHashAt + sizeof(uint64_t);

// As in the file, on little-endian machines.
struct Fields {
  uint32_t header_bytes;
  uint16_t major;
  uint16_t minor;
  uint64_t meta_bytes;
  uint64_t file_bytes;
  uint64_t meta_hash;
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read and written in place");
static_assert(sizeof(Fields) == 32 && kHeaderAt + offsetof(Fields, meta_hash) == kHashAt);

}  // namespace

WeftbHeader ReadWeftbHeader(absl::string_view meta) {
  Fields fields;
  std::memcpy(&fields, meta.data() + kHeaderAt, sizeof(fields));
  return {fields.header_bytes, fields.major,      fields.minor,
          fields.meta_bytes,   fields.file_bytes, fields.meta_hash};
}

void WriteWeftbHeader(const WeftbHeader& header, char* meta) {
  const Fields fields = {header.header_bytes, header.major,      header.minor,
                         header.meta_bytes,   header.file_bytes, header.meta_hash};
  std::memcpy(meta + kHeaderAt, &fields, sizeof(fields));
}

uint64_t HashWeftbMeta(absl::string_view meta) {
  return Fnv1a(meta.substr(kHashEnd), Fnv1a(meta.substr(0, kHashAt)));
}

}  // namespace weft
