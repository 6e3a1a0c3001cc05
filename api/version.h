// The version of Weft in files and messages.
#ifndef WEFT_API_VERSION_H_
#define WEFT_API_VERSION_H_

// For names that the preprocessor builds; build_defs/version.bzl has the same number.
#define WEFT_VERSION "0.1"

namespace weft {

inline constexpr char kVersion[] = WEFT_VERSION;

}  // namespace weft

#endif  // WEFT_API_VERSION_H_
