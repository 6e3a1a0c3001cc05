#include "passes/fuse/logs.h"

namespace weft {

LogComponent fusion_log("fusion", "what was fused, and what was not and why");

}  // namespace weft
