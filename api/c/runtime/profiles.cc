// Profiles as text.
#include "api/c/entries/profiles.h"

#include "api/c/entries/entries.h"
#include "api/c/runtime/entries.h"
#include "profiler/sinks/text_file_sink.h"

namespace weft::c {

weft_error* ProfileStart(weft_profile** profile) { return StartProfile({}, profile); }

void EndProfileStep(weft_profile* profile) { ProfileStep(profile); }

weft_error* ProfileStop(weft_profile* profile, const char* path) {
  return StopProfile(profile, path, profiler::MakeTextFileSink);
}

}  // namespace weft::c
