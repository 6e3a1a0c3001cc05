// The log component of passes that find or set sizes.
#ifndef WEFT_PASSES_SIZES_LOGS_H_
#define WEFT_PASSES_SIZES_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent shapes_log;

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_LOGS_H_
