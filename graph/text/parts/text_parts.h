// Parts of the text form that modules and single nodes share.
#ifndef WEFT_GRAPH_TEXT_PARTS_TEXT_PARTS_H_
#define WEFT_GRAPH_TEXT_PARTS_TEXT_PARTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/type.h"

namespace weft {
class AttrList;
class HostTensor;
struct OpSchema;
}  // namespace weft

namespace weft::text {

// "dense<1.5>", after the name if there is one.
std::string LiteralToString(const HostTensor& tensor, absl::string_view name);

// "dim=1, keepdim=true": the attributes that differ from their defaults.
std::string AttrsToString(const OpSchema& schema, const AttrList* attrs);

}  // namespace weft::text

namespace weft {

class Node;

// Default limit: constants of at most this many elements are written in place.
inline constexpr int64_t kMaxInlineElements = 16;

// One line, without the newline. Values are named by their ids.
std::string PrintNode(const Node& node);

// Parsers of single sizes and types, for flags, rules and samples.
absl::StatusOr<SymInt> ParseSymInt(absl::string_view text);
absl::StatusOr<Type> ParseType(absl::string_view text);

}  // namespace weft

#endif  // WEFT_GRAPH_TEXT_PARTS_TEXT_PARTS_H_
