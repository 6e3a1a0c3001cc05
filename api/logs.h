// Log lines and artifacts: base/log.h for code that includes only api.
#ifndef WEFT_API_LOGS_H_
#define WEFT_API_LOGS_H_

#include "base/log.h"

#endif  // WEFT_API_LOGS_H_
