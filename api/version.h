// The version of Weft, as files and messages name it.
#ifndef WEFT_API_VERSION_H_
#define WEFT_API_VERSION_H_

namespace weft {

inline constexpr char kVersion[] = "0.1";

}  // namespace weft

#endif  // WEFT_API_VERSION_H_
