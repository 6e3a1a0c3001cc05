#include "profiler/read/read.h"

#include <new>

#include "absl/strings/str_cat.h"

namespace weft::profiler {
namespace {

// Weft's Perfetto files begin with a line feed, the tag of a packet. JSON may do so too, but then
// an object or a list follows.
bool LooksLikeJson(absl::string_view bytes) {
  constexpr char kSpace[] = " \t\r\n";
  if (bytes[0] != '\n') return true;
  const size_t first = bytes.find_first_not_of(kSpace);
  if (first == absl::string_view::npos) return true;
  if (bytes[first] != '{' && bytes[first] != '[') return false;
  const size_t second = bytes.find_first_not_of(kSpace, first + 1);
  return second == absl::string_view::npos ||
         absl::string_view("\"{}]").find(bytes[second]) != absl::string_view::npos;
}

absl::Status ReadEvents(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
  if (source.AtEnd()) {
    return source.status().ok() ? source.ErrorHere("the file is empty") : source.status();
  }
  return LooksLikeJson(source.LookAhead().substr(0, 4096)) ? ReadChromeJson(source, sink, options)
                                                           : ReadPerfetto(source, sink, options);
}

// The state of a sink, and one item of the trace, may be larger than memory.
absl::Status Read(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
  try {
    return ReadEvents(source, sink, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(source.name(), ": byte ", source.position(), ": no memory"));
  }
}

}  // namespace

absl::Status ReadTrace(const std::string& path, TraceSink& sink, const ReadOptions& options) {
  auto source = ByteSource::OpenFile(path, options.progress);
  return source.ok() ? Read(**source, sink, options) : source.status();
}

absl::Status ReadTraceBytes(absl::string_view bytes, const std::string& name, TraceSink& sink,
                            const ReadOptions& options) {
  return Read(*ByteSource::OfMemory(bytes, name), sink, options);
}

}  // namespace weft::profiler
