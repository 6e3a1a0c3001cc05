// The version of Weft, as files and messages name it.
#ifndef WEFT_API_VERSION_H_
#define WEFT_API_VERSION_H_

// For names put together by the preprocessor; build_defs/version.bzl says the same.
#define WEFT_VERSION "0.1"

namespace weft {

inline constexpr char kVersion[] = WEFT_VERSION;

}  // namespace weft

#endif  // WEFT_API_VERSION_H_
