// The parallel loop of the embedding program: backends/cpu/threads/host_loop.h for code that
// includes only api.
#ifndef WEFT_API_HOST_LOOP_H_
#define WEFT_API_HOST_LOOP_H_

#include "backends/cpu/threads/host_loop.h"

#endif  // WEFT_API_HOST_LOOP_H_
