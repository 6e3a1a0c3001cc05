// The allocator of programs' host memory: backends/runtime/host_allocator.h for code that includes
// only api.
#ifndef WEFT_API_ALLOCATOR_H_
#define WEFT_API_ALLOCATOR_H_

#include "backends/runtime/host_allocator.h"

#endif  // WEFT_API_ALLOCATOR_H_
