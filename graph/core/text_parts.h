// Parts of the text form that modules and single nodes share.
#ifndef WEFT_GRAPH_CORE_TEXT_PARTS_H_
#define WEFT_GRAPH_CORE_TEXT_PARTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graph/core/attr.h"
#include "graph/core/op.h"
#include "graph/core/tensor.h"

namespace weft::text {

// "dense<1.5>", after the name if there is one.
std::string LiteralToString(const HostTensor& tensor, absl::string_view name);

// "dim=1, keepdim=true": the attributes that differ from their defaults.
std::string AttrsToString(const OpSchema& schema, const AttrList* attrs);

}  // namespace weft::text

#endif  // WEFT_GRAPH_CORE_TEXT_PARTS_H_
