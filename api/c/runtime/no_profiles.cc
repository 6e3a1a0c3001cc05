// A runtime that cannot record.
#include "absl/status/status.h"
#include "api/c/entries/errors.h"
#include "api/c/runtime/entries.h"

namespace weft::c {
namespace {

absl::Status NoProfiles() {
  return absl::UnimplementedError("this runtime is built without profiles");
}

}  // namespace

weft_error* ProfileStart(weft_profile** profile) {
  if (profile != nullptr) *profile = nullptr;
  return Guarded("profile_start", NoProfiles);
}

void EndProfileStep(weft_profile*) {}

weft_error* ProfileStop(weft_profile*, const char*) { return Guarded("profile_stop", NoProfiles); }

}  // namespace weft::c
