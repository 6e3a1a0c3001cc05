// Cuts a part out of a program, as a program of its own.
//
// Values that cross the cut become inputs of their types, with the facts about their symbols: names
// of the program's inputs stay, others are those of the nodes that computed the value. What is
// computed from constants alone is kept, not made an input. A symbol that no size of an input
// gives directly becomes an input of its own, before the others.
#ifndef WEFT_API_INSPECT_EXTRACT_H_
#define WEFT_API_INSPECT_EXTRACT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/inspect/extract_spec.h"
#include "graph/ir/module.h"

namespace weft {

// With `between`: the nodes that depend on a value of FROM and that a value of TO depends on. The
// inputs of the result are FROM in that order, then what else crosses the cut; its outputs are TO.
// Else: the nodes of the list; outputs are the results that other nodes, or outputs, use.
//
// A name of a source node stands for all nodes that stand for it and, as a value, for those of
// their results that other nodes use. InvalidArgument for an unknown name, with the most similar
// one; for a value of TO that does not depend on FROM and one of FROM on which TO does not depend;
// for a module with writes (MakeFunctional) and one without main().
absl::StatusOr<std::unique_ptr<Module>> Extract(const Module& module, const ExtractSpec& spec);
// The same for the text of a spec.
absl::StatusOr<std::unique_ptr<Module>> Extract(const Module& module, absl::string_view spec);

}  // namespace weft

#endif  // WEFT_API_INSPECT_EXTRACT_H_
