#include "passes/sizes/logs.h"

namespace weft {

LogComponent shapes_log("shapes", "sizes that were found out, assumed or fixed");

}  // namespace weft
