// Shared by the readers of plans and of kernels. Each function reads one item at the reader's
// position; false after an error, which the reader has.
#ifndef WEFT_LOWERING_PLAN_TEXT_READER_H_
#define WEFT_LOWERING_PLAN_TEXT_READER_H_

#include "absl/strings/string_view.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/kernel.h"

namespace weft {

// Reads a number of at least 0.
bool ParseIndex(text::TextReader& reader, int* out);

// Reads "%12" or, with prefix "a", "%a3": a number below `limit`.
bool ParseNumbered(text::TextReader& reader, absl::string_view prefix, int limit, int* out);

bool ParseDType(text::TextReader& reader, DType* out);

// Reads a kernel from the word "kernel" on.
bool ParseKernelText(text::TextReader& reader, Kernel* kernel);

// Reads a schedule from the word "schedule" on, as ToString(KernelSchedule) prints it.
bool ParseScheduleText(text::TextReader& reader, KernelSchedule* schedule);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_READER_H_
