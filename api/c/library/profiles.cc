// Profiles.
#include <memory>
#include <string>
#include <utility>

#include "api/c/entries/errors.h"
#include "api/c/library/entries.h"
#include "api/inspect/device_sources.h"
#include "base/status_macros.h"
#include "profiler/session.h"
#include "profiler/sink.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/trace.h"

struct weft_profile {
  std::unique_ptr<weft::profiler::Session> session;
};

namespace weft::c {

weft_error* ProfileStart(weft_profile** profile) {
  return Guarded("profile_start", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(profile, "profile"));
    *profile = nullptr;
    profiler::SessionOptions options;
    options.sources = DeviceSources();
    WEFT_ASSIGN_OR_RETURN(auto session, profiler::Session::Start(std::move(options)));
    *profile = new weft_profile{std::move(session)};
    return absl::OkStatus();
  });
}

void ProfileStep(weft_profile* profile) {
  if (profile != nullptr) profile->session->Step();
}

weft_error* ProfileStop(weft_profile* profile, const char* path) {
  return Guarded("profile_stop", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(profile, "profile"));
    const std::unique_ptr<weft_profile> owned(profile);
    WEFT_ASSIGN_OR_RETURN(const profiler::Trace trace, owned->session->Stop());
    if (path == nullptr) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(const auto sink, profiler::MakeFileSink(path));
    return profiler::ExportTrace(trace, *sink);
  });
}

}  // namespace weft::c
