/* Attributes of ops in Weft's C interfaces. C99 or C++. */
#ifndef WEFT_API_C_ATTR_H_
#define WEFT_API_C_ATTR_H_

#include <stdint.h>

typedef int32_t weft_attr_kind;
enum {
  WEFT_ATTR_ABSENT = 0,
  WEFT_ATTR_BOOL = 1,  /* ints[0]: 0 or 1. */
  WEFT_ATTR_INT = 2,   /* ints[0]. */
  WEFT_ATTR_FLOAT = 3, /* floats[0]. */
  WEFT_ATTR_TEXT = 4,  /* texts[0]. */
  WEFT_ATTR_DTYPE = 5, /* ints[0], a weft_dtype of device.h. */
  WEFT_ATTR_INTS = 6,
  WEFT_ATTR_FLOATS = 7,
  WEFT_ATTR_TEXTS = 8
};

/* An attribute of an op, named as in the op's schema. */
typedef struct weft_attr {
  const char* name;
  weft_attr_kind kind;
  int32_t count; /* Length of the list below. */
  const int64_t* ints;
  const double* floats;
  const char* const* texts;
} weft_attr;

#endif /* WEFT_API_C_ATTR_H_ */
