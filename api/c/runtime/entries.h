// The functions of the table (runtime.cc) that are not shared with the library; api/c/weft.h
// documents them.
#ifndef WEFT_API_C_RUNTIME_ENTRIES_H_
#define WEFT_API_C_RUNTIME_ENTRIES_H_

#include "api/c/weft.h"

namespace weft::c {

// profiles.cc; no_profiles.cc with --define=weft_profiles=0
weft_error* ProfileStart(weft_profile** profile);
void EndProfileStep(weft_profile* profile);
weft_error* ProfileStop(weft_profile* profile, const char* path);

}  // namespace weft::c

#endif  // WEFT_API_C_RUNTIME_ENTRIES_H_
