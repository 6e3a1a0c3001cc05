// Properties that an op must have on a valid sample. Every check adds gtest failures.
#ifndef WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CHECKS_H_
#define WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CHECKS_H_

#include <vector>

#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {

class AttrList;
class OpDef;
class SymbolTable;

// A valid sample with constant sizes, its inputs and what it evaluates to.
struct OpCase {
  const OpDef& op;
  Sample sample;
  std::vector<Type> types;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
};

absl::StatusOr<Types> InferCase(const OpDef& op, absl::Span<const Type> types,
                                const AttrList* attrs, SymbolTable* symbols);
// Infers and evaluates; fails the test and returns nothing on an error.
std::optional<OpCase> MakeCase(const Sample& sample);

// Types inferred on symbolic sizes hold for the sizes that the symbols stand
// for, and for other sizes; the decomposition has these types too.
void CheckSymbolicInfer(const OpCase& c);
// The decomposition gives what Eval gives.
void CheckDecomposition(const OpCase& c);
// The decomposition refuses the integers that Eval refuses, and no others.
void CheckRefusals(const OpCase& c);
// A module with the op prints, parses back and verifies.
void CheckText(const OpCase& c);
// Strides and offsets of the inputs do not matter.
void CheckStrides(const OpCase& c);
// Sizes 0 and 1 evaluate, or are refused with a status.
void CheckSmallSizes(const OpCase& c);
// Eval supports everything that Infer accepts: every dtype, and special values.
void CheckDTypes(const OpCase& c);
void CheckSpecialValues(const OpCase& c);
// Folded and unfolded graphs give the same bits and types: with constants as
// operands, with equal operands, with 0, 1 and -1, with the op on itself.
void CheckFolds(const OpCase& c);
// The inverse of a view must give the base with the viewed elements replaced, and must refuse a
// view that shows an element twice; false if it refuses. True for results that are not views.
bool CheckViews(const OpCase& c);
// An op that writes has a functional twin that gives what Eval gives.
void CheckWrites(const OpCase& c);
// Traits say the truth.
void CheckTraits(const OpCase& c);

}  // namespace weft

#endif  // WEFT_TESTS_GRAPH_OPS_CONFORMANCE_CHECKS_H_
