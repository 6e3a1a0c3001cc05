// Profiles.
#include "api/c/entries/profiles.h"

#include "api/c/library/entries.h"
#include "api/inspect/device_sources.h"
#include "profiler/sinks/file_sink.h"

namespace weft::c {

weft_error* ProfileStart(weft_profile** profile) { return StartProfile(DeviceSources(), profile); }

weft_error* ProfileStop(weft_profile* profile, const char* path) {
  return StopProfile(profile, path,
                     [](const std::string& file) { return profiler::MakeFileSink(file); });
}

}  // namespace weft::c
