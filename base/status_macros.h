// Macros that return early on an absl::Status error.
#ifndef WEFT_BASE_STATUS_MACROS_H_
#define WEFT_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expr` from the enclosing function unless it is OK.
#define WEFT_RETURN_IF_ERROR(expr)                                \
  do {                                                            \
    if (::absl::Status weft_status = (expr); !weft_status.ok()) { \
      return weft_status;                                         \
    }                                                             \
  } while (false)

// WEFT_ASSIGN_OR_RETURN(int dim, NormalizeDim(...)): declares or assigns `lhs`,
// or returns the error.
#define WEFT_ASSIGN_OR_RETURN(lhs, expr) \
  WEFT_ASSIGN_OR_RETURN_(WEFT_STATUS_CONCAT_(weft_or_, __LINE__), lhs, expr)

#define WEFT_STATUS_CONCAT_INNER_(a, b) a##b
#define WEFT_STATUS_CONCAT_(a, b) WEFT_STATUS_CONCAT_INNER_(a, b)
#define WEFT_ASSIGN_OR_RETURN_(var, lhs, expr)   \
  auto var = (expr);                             \
  if (!var.ok()) return std::move(var).status(); \
  lhs = *std::move(var)

#endif  // WEFT_BASE_STATUS_MACROS_H_
