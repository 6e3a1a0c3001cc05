// Attribute values, and the interned list of them that a node carries.
//
// A schema (op_schema.h) lists an op's attributes once, in order; a node's AttrList
// holds one value for each, in that order. Printing, parsing, hashing, equality
// and every file format come from the two together. Tensors are not attributes:
// a `constant` node refers to the module's constant store.
#ifndef WEFT_GRAPH_IR_ATTR_H_
#define WEFT_GRAPH_IR_ATTR_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {

// Attribute kinds as a schema names them: bool, int, SymInt, float, str, ScalarType, and lists.
// `int` is a SymInt that must be constant.
enum class AttrKind : uint8_t {
  kBool,
  kInt,
  kSymInt,
  kFloat,
  kString,
  kDType,
  kInts,
  kSymInts,
  kFloats,
  kStrings,
};

class AttrValue {
 public:
  using Storage = std::variant<std::monostate, bool, SymInt, double, std::string, DType,
                               std::vector<SymInt>, std::vector<double>, std::vector<std::string>>;

  AttrValue() = default;  // Absent optional attribute.
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  AttrValue(T v) : v_(v) {}                               // NOLINT
  AttrValue(int v) : v_(SymInt(v)) {}                     // NOLINT
  AttrValue(int64_t v) : v_(SymInt(v)) {}                 // NOLINT
  AttrValue(SymInt v) : v_(v) {}                          // NOLINT
  AttrValue(double v) : v_(v) {}                          // NOLINT
  AttrValue(const char* v) : v_(std::string(v)) {}        // NOLINT
  AttrValue(absl::string_view v) : v_(std::string(v)) {}  // NOLINT
  AttrValue(std::string v) : v_(std::move(v)) {}          // NOLINT
  AttrValue(DType v) : v_(v) {}                           // NOLINT
  AttrValue(std::vector<SymInt> v) : v_(std::move(v)) {}  // NOLINT
  AttrValue(absl::Span<const SymInt> v)                   // NOLINT
      : v_(std::vector<SymInt>(v.begin(), v.end())) {}
  AttrValue(const std::vector<int64_t>& v) : v_(ToSymInts(v)) {}  // NOLINT
  AttrValue(std::vector<double> v) : v_(std::move(v)) {}          // NOLINT
  AttrValue(std::vector<std::string> v) : v_(std::move(v)) {}     // NOLINT

  bool present() const { return v_.index() != 0; }
  const Storage& storage() const { return v_; }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&v_);
  }

  // True if an attribute of `kind` may have a value of this kind.
  bool Matches(AttrKind kind) const;
  // The symbolic integers of the value; empty for other kinds.
  absl::Span<const SymInt> symints() const;
  AttrValue Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const;

  // As in the text form: true, 3, s0 + 1, 0.5, "text", f32, [1, 2].
  std::string ToString() const;
  uint64_t hash() const;
  // Floats compare by their bits: NaN equals itself, and 0 differs from -0.
  friend bool operator==(const AttrValue& a, const AttrValue& b);
  friend bool operator!=(const AttrValue& a, const AttrValue& b) { return !(a == b); }

 private:
  Storage v_;
};

// Interned values: equal lists are one object for the life of the process.
class AttrList {
 public:
  static const AttrList* Get(std::vector<AttrValue> values);
  static const AttrList* Empty();

  absl::Span<const AttrValue> values() const { return values_; }
  const AttrValue& operator[](int i) const { return values_[i]; }
  int size() const { return static_cast<int>(values_.size()); }
  uint64_t hash() const { return hash_; }
  // True if some value mentions a symbol.
  bool is_symbolic() const { return is_symbolic_; }

  const AttrList* Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const;

 private:
  friend struct AttrListHash;
  explicit AttrList(std::vector<AttrValue> values);
  std::vector<AttrValue> values_;
  uint64_t hash_;
  bool is_symbolic_;
};

// Shortest decimal text that reads back as the same double: "0.1", "1e+30",
// "inf", "-inf", "nan". Always has a '.', an exponent or a letter.
std::string FloatToString(double v);
// The same for a value that was f32 (or narrower): "0.1" rather than the 17 digits of the double.
std::string FloatToString(float v);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_ATTR_H_
