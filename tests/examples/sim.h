// The library that examples/device makes, in tests.
#ifndef WEFT_TESTS_EXAMPLES_SIM_H_
#define WEFT_TESTS_EXAMPLES_SIM_H_

#include <string>

#include "api/c/device.h"

namespace weft {

std::string SimPath();

// Its entries; a copy, to be edited.
weft_device_api SimEntries();

}  // namespace weft

#endif  // WEFT_TESTS_EXAMPLES_SIM_H_
