// Types of values: interned, 8 bytes, compared by identity.
#ifndef WEFT_GRAPH_TENSOR_TYPE_H_
#define WEFT_GRAPH_TENSOR_TYPE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {

struct TypeStorage;

class Type {
 public:
  // Largest rank that inference and file readers accept.
  static constexpr int kMaxRank = 64;

  enum class Kind : uint8_t {
    kNone,    // The type of an absent optional operand.
    kTensor,  // A dtype and symbolic dims; strides are not part of it.
    kSymInt,  // An integer; its expression is part of the type.
  };

  Type() = default;  // kNone
  static Type Tensor(DType dtype, absl::Span<const SymInt> dims);
  static Type Scalar(DType dtype) { return Tensor(dtype, {}); }
  static Type Symbolic(SymInt value);

  Kind kind() const;
  bool is_tensor() const { return kind() == Kind::kTensor; }
  bool is_symint() const { return kind() == Kind::kSymInt; }

  // Requires is_tensor().
  DType dtype() const;
  absl::Span<const SymInt> dims() const;
  int rank() const { return static_cast<int>(dims().size()); }
  SymInt dim(int i) const { return dims()[i]; }
  // Product of the dims; 1 for a scalar.
  SymInt numel() const;
  // The dims when all are constants.
  std::optional<std::vector<int64_t>> static_dims() const;
  bool is_static() const;

  // The value; requires kSymInt.
  SymInt symint() const;

  Type WithDType(DType dtype) const { return Tensor(dtype, dims()); }
  Type WithDims(absl::Span<const SymInt> dims) const { return Tensor(dtype(), dims); }
  Type Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const;

  // "f32[s0, 128]", "f32[]", "symint[u0]", "none".
  std::string ToString() const;
  // Structural, equal in every process.
  uint64_t hash() const;

  friend bool operator==(Type a, Type b) { return a.storage_ == b.storage_; }
  friend bool operator!=(Type a, Type b) { return a.storage_ != b.storage_; }
  template <typename H>
  friend H AbslHashValue(H h, Type t) {
    return H::combine(std::move(h), t.hash());
  }

 private:
  explicit Type(const TypeStorage* storage) : storage_(storage) {}
  const TypeStorage* storage_ = nullptr;
};

using Types = std::vector<Type>;

inline std::ostream& operator<<(std::ostream& os, Type t) { return os << t.ToString(); }

}  // namespace weft

#endif  // WEFT_GRAPH_TENSOR_TYPE_H_
