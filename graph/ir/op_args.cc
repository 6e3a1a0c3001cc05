#include "graph/ir/op_args.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/check.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_facts.h"

namespace weft {

Attrs OpArgs::attrs() const { return Attrs(&op->schema(), attr_list); }

bool OpArgs::MayHold(SymInt condition) const {
  if (condition.is_constant()) return !condition.Is(0);
  const Proof proof = symbols != nullptr ? symbols->Prove(condition) : Proof::kUnknown;
  if (proof == Proof::kUnknown && needs != nullptr && condition.is_valid()) {
    needs->push_back(condition);
  }
  return proof != Proof::kNo;
}

absl::StatusOr<Types> InferTypes(const OpArgs& args) {
  const auto annotate = [&](const absl::Status& s) { return Annotate(s, args.op->name()); };
  if (args.op->verify() != nullptr) {
    absl::Status status = args.op->verify()(args);
    if (!status.ok()) return annotate(status);
  }
  WEFT_CHECK(args.op->infer() != nullptr) << args.op->name();
  absl::StatusOr<Types> types = args.op->infer()(args);
  if (!types.ok()) return annotate(types.status());
  for (Type t : *types) {
    if (!t.is_tensor()) continue;
    if (t.rank() > Type::kMaxRank) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat("a result of ", t.rank(), " dims; the limit is ", Type::kMaxRank)));
    }
    if (!t.numel().is_valid()) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat("the size of ", t.ToString(),
                       " cannot be expressed: an operand's "
                       "sizes do not fit together or overflow 64 bits")));
    }
    for (SymInt d : t.dims()) {
      if (d.is_constant() && d.value() < 0) {
        return annotate(
            absl::InvalidArgumentError(absl::StrCat("negative size in ", t.ToString())));
      }
    }
  }
  return types;
}

}  // namespace weft
