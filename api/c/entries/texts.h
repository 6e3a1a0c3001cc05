// Texts that the C interface returns.
#ifndef WEFT_API_C_ENTRIES_TEXTS_H_
#define WEFT_API_C_ENTRIES_TEXTS_H_

#include <string>

#include "api/c/weft.h"

struct weft_text {
  std::string value;
};

#endif  // WEFT_API_C_ENTRIES_TEXTS_H_
