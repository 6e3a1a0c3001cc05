#include "graph/ir/op_symbolic_eval.h"

#include <utility>

#include "graph/ir/op_def.h"

namespace weft {

SymbolicEvalContext::SymbolicEvalContext(const OpDef& op, const AttrList* attrs,
                                         const SymbolTable& symbols,
                                         absl::Span<const Elements* const> in, Types in_types,
                                         Type out_type)
    : op_(op),
      attrs_(attrs),
      symbols_(symbols),
      in_(in),
      in_types_(std::move(in_types)),
      out_type_(out_type),
      out_(out_type.numel().value(), SymInt::Invalid()) {}

Attrs SymbolicEvalContext::attrs() const { return Attrs(&op_.schema(), attrs_); }

}  // namespace weft
