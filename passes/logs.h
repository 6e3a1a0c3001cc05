// Log components of groups of passes.
#ifndef WEFT_PASSES_LOGS_H_
#define WEFT_PASSES_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent fusion_log;
extern LogComponent shapes_log;

}  // namespace weft

#endif  // WEFT_PASSES_LOGS_H_
