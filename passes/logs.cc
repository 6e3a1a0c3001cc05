#include "passes/logs.h"

namespace weft {

LogComponent fusion_log("fusion", "what was fused, and what was not and why");
LogComponent shapes_log("shapes", "sizes that were found out, assumed or fixed");

}  // namespace weft
