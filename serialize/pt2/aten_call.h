// The interface of the import function of an ATen operator: one call, with its arguments in the
// order of the schema and defaults filled in.
//
//   void Gelu(AtenCall& c) {
//     c.Return(c.Op(ops::gelu, {c.T("self")},
//                   {{"approximate", c.Str("approximate")}}));
//   }
//   {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", Gelu}
//
// The first error ends the call: Fail, Unsupported, accessors and makers of nodes throw Stop, which
// the importer catches around each node (it crosses no public header); status() has the error. So
// import functions never see a value after an error. It is a broken invariant to name an argument
// that the schema lacks.
#ifndef WEFT_SERIALIZE_PT2_ATEN_CALL_H_
#define WEFT_SERIALIZE_PT2_ATEN_CALL_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/builder.h"
#include "graph/tensor/type.h"
#include "serialize/pt2/aten_schema.h"
#include "serialize/pt2/rational.h"

namespace weft {
class AttrList;
class OpDef;
class Value;
}  // namespace weft

namespace weft::pt2 {

// The value of a name in the program, or of an argument.
struct Arg {
  enum class Kind {
    kNone,
    kTensor,        // value
    kInt,           // integer
    kFloat,         // number
    kComplex,       // number, imaginary
    kBool,          // integer: 0 or 1
    kFloatValue,    // value: an f64 scalar that stands for a float; maybe exact
    kRelation,      // `relation` between integer and other: a bool
    kBoolValue,     // value: a bool scalar that stands for a bool
    kString,        // text
    kDType,         // dtype; absent if Weft lacks it
    kMemoryFormat,  // memory_format
    kOpaque,        // A device or layout: no effect on the program.
    kList,          // items
    kGraph,         // graph
  };
  enum class Relation { kEq, kNe, kLt, kLe, kGt, kGe };

  Kind kind = Kind::kNone;
  Value* value = nullptr;
  SymInt integer;
  SymInt other;
  Relation relation = Relation::kEq;
  double number = 0;
  double imaginary = 0;
  std::optional<Rational> exact;  // Value of a float computed from sizes, if it is known.
  std::string text;
  std::optional<DType> dtype;
  MemoryFormat memory_format = MemoryFormat::kPreserve;
  std::vector<Arg> items;
  const GraphDef* graph = nullptr;

  bool is(Kind k) const { return kind == k; }
  bool present() const { return kind != Kind::kNone; }
  // True for a Python number, symbolic or not.
  bool is_number() const;
  // The value of a number that is a known fraction of sizes; is_float is set if it is a float.
  std::optional<Rational> AsRational() const;

  static Arg Tensor(Value* value);
  static Arg Int(SymInt value);
  static Arg List(std::vector<Arg> items);
};

// The type of `v`; f32[] for null.
Type TypeOf(const Value* v);

// Makes nodes through its builder. Generated builders of ops (graph/ops/<family>.h) throw Stop on
// an error, as its own functions do.
class AtenCall : public NodeMaker {
 public:
  // Thrown to end a call; the builder has the error.
  struct Stop {};

  // `builder` receives the nodes and the errors.
  AtenCall(const AtenSchema& schema, std::vector<Arg> args, Builder* builder)
      : schema_(schema), args_(std::move(args)), builder_(*builder) {}

  const AtenSchema& schema() const { return schema_; }
  const std::vector<Arg>& args() const { return args_; }

  // --- Errors.
  const absl::Status& status() const { return builder_.status(); }
  bool ok() const { return status().ok(); }
  Value* Fail(absl::string_view message);
  Value* Unsupported(absl::string_view message);

  // --- Arguments by name.
  const Arg& arg(absl::string_view name) const;
  bool Has(absl::string_view name) const { return arg(name).present(); }
  // A tensor. A number, which PyTorch accepts in its place, becomes a scalar.
  Value* T(absl::string_view name);
  Value* OptT(absl::string_view name);  // Null for None.
  // Null entries stand for None.
  std::vector<Value*> Ts(absl::string_view name);
  SymInt Sym(absl::string_view name);
  SymInt Sym(absl::string_view name, SymInt if_none);
  std::vector<SymInt> Syms(absl::string_view name);
  int64_t Int(absl::string_view name);
  int64_t Int(absl::string_view name, int64_t if_none);
  std::vector<int64_t> Ints(absl::string_view name);
  bool Bool(absl::string_view name);
  bool Bool(absl::string_view name, bool if_none);
  double Float(absl::string_view name);
  double Float(absl::string_view name, double if_none);
  std::vector<double> Floats(absl::string_view name);
  std::string Str(absl::string_view name);
  DType Dtype(absl::string_view name, DType if_none);
  std::vector<bool> Bools(absl::string_view name);
  // `n` values of a list, which may have one for all; `if_empty` for an empty list.
  std::vector<int64_t> IntsFor(absl::string_view name, int n);
  std::vector<int64_t> IntsFor(absl::string_view name, int n, std::vector<int64_t> if_empty);
  std::vector<SymInt> SymsFor(absl::string_view name, int n);
  // A dim of a tensor of `rank`, counted from the front. A scalar has dim 0.
  int Dim(absl::string_view name, int rank);
  int WrapDim(int64_t dim, int rank);
  // All dims if the argument is None or empty.
  std::vector<int64_t> Dims(absl::string_view name, int rank);

  // --- Dtypes.
  // The dtype in which PyTorch computes with these arguments: tensors with dims have priority over
  // scalars, which have priority over Python numbers.
  DType Promoted(std::initializer_list<absl::string_view> names);
  // The same with integers as f32.
  DType PromotedFloat(std::initializer_list<absl::string_view> names);
  // The argument (a tensor, or a number as a scalar) in `dtype`.
  Value* As(absl::string_view name, DType dtype);
  Value* As(const Arg& arg, DType dtype);

  // --- Results.
  void Return(Value* v) { results_.push_back(Arg::Tensor(v)); }
  void Return(const std::vector<Value*>& values) {
    for (Value* v : values) Return(v);
  }
  void Return(SymInt v) { results_.push_back(Arg::Int(v)); }
  void ReturnList(absl::Span<Value* const> values);
  void ReturnNone() { results_.push_back(Arg()); }
  void ReturnArg(Arg arg) { results_.push_back(std::move(arg)); }
  std::vector<Arg>& results() { return results_; }
  // The argument's tensor gets the value `v`; the importer makes the write.
  void Write(absl::string_view name, Value* v);
  const std::vector<std::pair<int, Value*>>& writes() const { return writes_; }

  // --- Making nodes.
  Builder& b() { return builder_; }
  std::vector<Value*> Create(const OpDef& op, absl::Span<Value* const> operands,
                             const AttrList* attrs) override {
    std::vector<Value*> values = builder_.Create(op, operands, attrs);
    if (!ok()) throw Stop();
    return values;
  }
  Value* Op(const OpDef& op, std::initializer_list<Value*> operands,
            std::initializer_list<NamedAttr> attrs = {}) {
    Value* v = builder_.Op(op, operands, attrs);
    if (v == nullptr) throw Stop();
    return v;
  }
  std::vector<Value*> Ops(const OpDef& op, std::initializer_list<Value*> operands,
                          std::initializer_list<NamedAttr> attrs = {}) {
    std::vector<Value*> values = builder_.Ops(op, operands, attrs);
    if (!ok()) throw Stop();
    return values;
  }

  // --- Number of tensors that the file names for a list result; 0: not a list. For a split of a
  // symbolic size this is the only source of the number.
  void set_list_size(int64_t size) { list_size_ = size; }
  int64_t list_size() const { return list_size_; }

  // --- Random numbers: the operands and the attribute of one draw.
  struct Draw {
    Value* state = nullptr;
    int64_t number = 0;
  };
  void set_draws(std::function<Draw()> draw) { draw_ = std::move(draw); }
  // Different at each call.
  Draw NextDraw() { return draw_(); }

  // --- Memory layout in the file: strides by value if they are recorded.
  struct Layout {
    std::vector<SymInt> strides;
    SymInt offset = 0;
  };
  void set_layouts(std::vector<std::optional<Layout>> layouts) { layouts_ = std::move(layouts); }
  // The layout of an argument; nullopt if it is unknown.
  std::optional<Layout> LayoutOf(absl::string_view name) const;

 private:
  const AtenSchema& schema_;
  std::vector<Arg> args_;
  Builder& builder_;
  std::vector<Arg> results_;
  std::vector<std::pair<int, Value*>> writes_;
  std::vector<std::optional<Layout>> layouts_;
  std::function<Draw()> draw_;
  int64_t list_size_ = 0;
};

// PyTorch's promotion of two dtypes.
DType PromoteTypes(DType a, DType b);

// One overload: its schema, and the function that makes its nodes.
using AtenFn = void (*)(AtenCall&);
struct AtenOp {
  const char* schema;
  AtenFn fn;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_CALL_H_
