/* Status codes of Weft's C interfaces: those of absl::StatusCode. C99 or C++. */
#ifndef WEFT_API_C_STATUS_H_
#define WEFT_API_C_STATUS_H_

#include <stdint.h>

typedef int32_t weft_status;
enum {
  WEFT_OK = 0,
  WEFT_CANCELLED = 1,
  WEFT_UNKNOWN = 2,
  WEFT_INVALID_ARGUMENT = 3,
  WEFT_DEADLINE_EXCEEDED = 4,
  WEFT_NOT_FOUND = 5, /* A file, or a name. */
  WEFT_ALREADY_EXISTS = 6,
  WEFT_PERMISSION_DENIED = 7,
  WEFT_RESOURCE_EXHAUSTED = 8, /* No memory, or a limit. */
  WEFT_FAILED_PRECONDITION = 9,
  WEFT_ABORTED = 10,
  WEFT_OUT_OF_RANGE = 11,  /* An index in the data is out of bounds. */
  WEFT_UNIMPLEMENTED = 12, /* Weft or the device does not have it. */
  WEFT_INTERNAL = 13,      /* A fault of Weft or of the device. */
  WEFT_UNAVAILABLE = 14,   /* The call may work later. */
  WEFT_DATA_LOSS = 15
};

#endif /* WEFT_API_C_STATUS_H_ */
