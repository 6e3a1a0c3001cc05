// One call of a function of an op in C: the data that the op_call entries of the table read and
// write.
#ifndef WEFT_API_C_LIBRARY_OP_CALL_H_
#define WEFT_API_C_LIBRARY_OP_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/c/entries/tensors.h"
#include "api/c/weft.h"
#include "graph/ir/attrs.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft::c {

// A weft_attr with what it points to.
struct AttrStorage {
  weft_attr value = {};
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<const char*> texts;
};

}  // namespace weft::c

struct weft_op_call {
 public:
  // `attrs` outlives the call.
  weft_op_call(weft::Attrs attrs, absl::Span<const weft::Type> operands, size_t num_results);

  // Gives an evaluation its tensors; an operand that is not valid is absent.
  void SetTensors(std::vector<weft::HostTensor> operands, std::vector<weft::HostTensor> results);

  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const absl::Status& status() const { return status_; }

  size_t num_operands() const { return types_.size(); }
  // Null for an index that is too large.
  const char* TypeText(size_t operand) const;
  const weft_attr* Attr(const char* name) const;
  void SetType(size_t result, const char* type);
  const weft_tensor* Operand(size_t i) const { return TensorAt(operands_, i); }
  const weft_tensor* Result(size_t i) const { return TensorAt(results_, i); }

  // The types that were set; the error of the call, or one for a result that has none.
  absl::StatusOr<weft::Types> TakeTypes();

 private:
  using Views = std::vector<std::unique_ptr<weft::c::TensorView>>;
  static const weft_tensor* TensorAt(const Views& views, size_t i);
  absl::StatusOr<weft::Type> ReadType(const char* text) const;

  const weft::Attrs attrs_;
  std::vector<weft::c::AttrStorage> attr_values_;  // In the schema's order.
  std::vector<std::string> types_;
  absl::flat_hash_set<weft::SymInt> symbols_;  // Those of the operands' types.
  std::vector<std::optional<weft::Type>> result_types_;
  Views operands_;
  Views results_;
  absl::Status status_;
};

#endif  // WEFT_API_C_LIBRARY_OP_CALL_H_
