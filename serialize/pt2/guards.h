// Guards of a program: Python conditions over the sizes of its inputs, such as
// `(2*L['a'][0].size()[0]) == ((-1) + L['a'][1].size()[0])`.
#ifndef WEFT_SERIALIZE_PT2_GUARDS_H_
#define WEFT_SERIALIZE_PT2_GUARDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"

namespace weft {
class SymbolTable;
}  // namespace weft

namespace weft::pt2 {

// The condition of the guard. `size_of` gives a size of a graph input; L['a'][0] is the input a_0,
// as torch.export names it. Unimplemented for guards that are not conditions on sizes,
// ResourceExhausted for those too large for an expression: the caller may ignore them. `facts`
// decide parts of a guard.
absl::StatusOr<SymInt> ParseGuard(
    absl::string_view text,
    absl::FunctionRef<absl::StatusOr<SymInt>(absl::string_view input, int64_t dim)> size_of,
    const SymbolTable* facts = nullptr);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_GUARDS_H_
