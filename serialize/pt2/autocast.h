// The effect of autocast on a CPU on the arguments of an operator.
#ifndef WEFT_SERIALIZE_PT2_AUTOCAST_H_
#define WEFT_SERIALIZE_PT2_AUTOCAST_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "serialize/pt2/aten_call.h"

namespace weft::pt2 {

// The dtype to which floats among the arguments are cast; nullopt if they are unchanged.
std::optional<DType> AutocastDType(absl::string_view target, DType low,
                                   const std::vector<Arg>& args);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_AUTOCAST_H_
