// The layout of .weftb files around their FlatBuffer (weftb.fbs).
//
//   0      the FlatBuffer: position of its root, "WFTB"
//   8      the header: it lies inside the FlatBuffer, which does not use these bytes
//   64     the tables of the FlatBuffer
//   ...    segments, each at a multiple of 64: texts, machine code, then the data of constants at a
//          multiple of 4096
//
// The header:
//
//   8   u32  bytes of the FlatBuffer's beginning and the header, 64; more in later minor versions
//   12  u16  major version: a reader refuses another one
//   14  u16  minor version: a reader ignores what a later one added
//   16  u64  bytes of the FlatBuffer, from byte 0 of the file
//   24  u64  bytes of the file
//   32  u64  FNV-1a of the FlatBuffer, header included, without these 8 bytes
//   40       zeros
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_FORMAT_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

inline constexpr char kWeftbIdentifier[] = "WFTB";
inline constexpr uint16_t kWeftbMajor = 1;
inline constexpr uint16_t kWeftbMinor = 4;
inline constexpr int64_t kWeftbHeaderBytes = 64;
// Segments, and constants in them, begin at multiples of this.
inline constexpr int64_t kWeftbAlignment = 64;
// Where the writer begins a segment of constants, so that it has pages of its own.
inline constexpr int64_t kWeftbPage = 4096;
// FlatBuffers have 31-bit offsets.
inline constexpr int64_t kMaxWeftbMeta = (int64_t{1} << 31) - 1;

// Limits that writer and reader keep to.
inline constexpr size_t kMaxWeftbConstants = size_t{1} << 22;
inline constexpr size_t kMaxWeftbPlans = 4096;               // Plans, and targets.
inline constexpr size_t kMaxWeftbName = 4096;                // Bytes in a function's name.
inline constexpr size_t kMaxWeftbStrings = size_t{1} << 28;  // Bytes in all other strings.

struct WeftbHeader {
  uint32_t header_bytes = 0;
  uint16_t major = 0;
  uint16_t minor = 0;
  uint64_t meta_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t meta_hash = 0;
};

// `meta` has at least kWeftbHeaderBytes.
WeftbHeader ReadWeftbHeader(absl::string_view meta);
void WriteWeftbHeader(const WeftbHeader& header, char* meta);
// The hash that the header of this FlatBuffer should have.
uint64_t HashWeftbMeta(absl::string_view meta);

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_FORMAT_H_
