// Profiles of either table.
#ifndef WEFT_API_C_ENTRIES_PROFILES_H_
#define WEFT_API_C_ENTRIES_PROFILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/c/weft.h"
#include "profiler/sink.h"
#include "profiler/source.h"

namespace weft::c {

// The entry profile_start; `sources` record beside the threads of the process.
weft_error* StartProfile(std::vector<std::shared_ptr<profiler::EventSource>> sources,
                         weft_profile** profile);

// Makes the sink for a file by its name.
using SinkMaker = absl::StatusOr<std::unique_ptr<profiler::TraceSink>> (*)(const std::string& path);

// The entry profile_stop.
weft_error* StopProfile(weft_profile* profile, const char* path, SinkMaker make_sink);

}  // namespace weft::c

#endif  // WEFT_API_C_ENTRIES_PROFILES_H_
