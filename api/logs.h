// Log lines and artifacts: graph/core/log.h, for those who use api alone.
#ifndef WEFT_API_LOGS_H_
#define WEFT_API_LOGS_H_

#include "graph/core/log.h"

#endif  // WEFT_API_LOGS_H_
