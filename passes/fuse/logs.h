// The log component of passes that fuse.
#ifndef WEFT_PASSES_FUSE_LOGS_H_
#define WEFT_PASSES_FUSE_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent fusion_log;

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_LOGS_H_
