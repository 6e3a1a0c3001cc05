#include "serialize/logs.h"

namespace weft {

LogComponent import_log("import", "files that are read");

}  // namespace weft
