#include "backends/cpu/jit/logs.h"

namespace weft {

LogComponent codegen_log("codegen", "generated kernels and their compiler");

}  // namespace weft
