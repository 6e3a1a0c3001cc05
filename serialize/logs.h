// The log component of importers.
#ifndef WEFT_SERIALIZE_LOGS_H_
#define WEFT_SERIALIZE_LOGS_H_

#include "base/log.h"

namespace weft {

extern LogComponent import_log;

}  // namespace weft

#endif  // WEFT_SERIALIZE_LOGS_H_
