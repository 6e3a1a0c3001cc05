#include "api/c/entries/profiles.h"

#include <utility>

#include "absl/status/status.h"
#include "api/c/entries/entries.h"
#include "api/c/entries/errors.h"
#include "base/status_macros.h"
#include "profiler/session.h"
#include "profiler/trace.h"

struct weft_profile {
  std::unique_ptr<weft::profiler::Session> session;
};

namespace weft::c {

weft_error* StartProfile(std::vector<std::shared_ptr<profiler::EventSource>> sources,
                         weft_profile** profile) {
  return Guarded("profile_start", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(profile, "profile"));
    *profile = nullptr;
    profiler::SessionOptions options;
    options.sources = std::move(sources);
    WEFT_ASSIGN_OR_RETURN(auto session, profiler::Session::Start(std::move(options)));
    *profile = new weft_profile{std::move(session)};
    return absl::OkStatus();
  });
}

void ProfileStep(weft_profile* profile) {
  if (profile != nullptr) profile->session->Step();
}

weft_error* StopProfile(weft_profile* profile, const char* path, SinkMaker make_sink) {
  return Guarded("profile_stop", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(profile, "profile"));
    const std::unique_ptr<weft_profile> owned(profile);
    WEFT_ASSIGN_OR_RETURN(const profiler::Trace trace, owned->session->Stop());
    if (path == nullptr) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(const auto sink, make_sink(path));
    return profiler::ExportTrace(trace, *sink);
  });
}

}  // namespace weft::c
