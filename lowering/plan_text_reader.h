// What the readers of plans and of their kernels share. Each reads one thing where the
// reader stands; false after an error, which the reader holds.
#ifndef WEFT_LOWERING_PLAN_TEXT_READER_H_
#define WEFT_LOWERING_PLAN_TEXT_READER_H_

#include "absl/strings/string_view.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/kernel.h"

namespace weft {

// A number of things, at least 0.
bool ParseIndex(text::TextReader& reader, int* out);

// "%12" or, with prefix "a", "%a3": a number below `limit`.
bool ParseNumbered(text::TextReader& reader, absl::string_view prefix, int limit, int* out);

bool ParseDType(text::TextReader& reader, DType* out);

// From the word "kernel" on.
bool ParseKernelText(text::TextReader& reader, Kernel* kernel);

// From the word "schedule" on: what ToString(KernelSchedule) gives.
bool ParseScheduleText(text::TextReader& reader, KernelSchedule* schedule);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_READER_H_
