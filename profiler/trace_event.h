// An event in the form of trace files: sinks receive it and readers produce it. Its views are valid
// only during the call.
#ifndef WEFT_PROFILER_TRACE_EVENT_H_
#define WEFT_PROFILER_TRACE_EVENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft::profiler {

struct ArgValue {
  enum class Kind : uint8_t { kInt, kDouble, kBool, kString, kJson };
  Kind kind = Kind::kInt;
  int64_t integer = 0;  // Value of kInteger and kBool.
  double number = 0;
  absl::string_view text;  // Value of kString; for kJson, one JSON value.

  static ArgValue Int(int64_t value) { return {Kind::kInt, value, 0, {}}; }
  static ArgValue Double(double value) { return {Kind::kDouble, 0, value, {}}; }
  static ArgValue Bool(bool value) { return {Kind::kBool, value, 0, {}}; }
  static ArgValue String(absl::string_view value) { return {Kind::kString, 0, 0, value}; }
  static ArgValue Json(absl::string_view value) { return {Kind::kJson, 0, 0, value}; }

  bool IsNumber() const { return kind == Kind::kInt || kind == Kind::kDouble; }
  double AsDouble() const { return kind == Kind::kDouble ? number : static_cast<double>(integer); }
};

struct Arg {
  absl::string_view key;
  ArgValue value;
};

// A process or thread: a number, or a text for tracks that are neither.
struct TrackPart {
  int64_t number = 0;
  absl::string_view text;
  bool is_text = false;

  static TrackPart Number(int64_t value) { return {value, {}, false}; }
  static TrackPart Text(absl::string_view value) { return {0, value, true}; }
};

struct TraceEvent {
  // Phase in Chrome's format: 'X' span, 'i' instant, 'C' counter, 's' and 'f' start and finish of a
  // flow, 'M' a fact about a track.
  char phase = 'X';
  char scope = 't';  // Scope of an instant: 't'hread, 'p'rocess, 'g'lobal.
  absl::string_view category;
  absl::string_view name;
  TrackPart pid;
  TrackPart tid;
  int64_t time_ns = 0;  // Relative to the header's base time.
  int64_t duration_ns = 0;
  uint64_t id = 0;  // For flows.
  absl::Span<const Arg> args;

  // Null if there is no such argument.
  const ArgValue* FindArg(absl::string_view key) const {
    for (const Arg& arg : args) {
      if (arg.key == key) return &arg.value;
    }
    return nullptr;
  }
};

// The fields of a file outside of its events.
struct TraceHeader {
  int64_t base_time_ns = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // Key and JSON text, in order.
};

// Keys of arguments that are written here and read in several places. Those with Kineto's meaning
// have Kineto's spelling.
namespace arg {
inline constexpr char kAddress[] = "Addr";
inline constexpr char kBytes[] = "Bytes";  // Of an allocation.
inline constexpr char kBytesMoved[] = "Bytes moved";
inline constexpr char kCategory[] = "Category";  // Of an allocation.
inline constexpr char kExternalId[] = "External id";
inline constexpr char kFlops[] = "Flops";
inline constexpr char kInputDims[] = "Input Dims";
inline constexpr char kProvenance[] = "Provenance";
inline constexpr char kKernelBackend[] = "kernel_backend";
inline constexpr char kTotalAllocated[] = "Total Allocated";
}  // namespace arg

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_TRACE_EVENT_H_
