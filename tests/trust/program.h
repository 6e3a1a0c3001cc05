// Programs under test, and what the generators build them from: operands that are inputs or
// constants, dense or views, of sizes that are numbers or symbols.
#ifndef WEFT_TESTS_TRUST_PROGRAM_H_
#define WEFT_TESTS_TRUST_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "tests/trust/random.h"

namespace weft {
class Graph;
class Value;
}  // namespace weft

namespace weft::trust {

struct TestProgram {
  std::unique_ptr<Module> module;
  std::vector<HostTensor> inputs;
  // Some elements are NaN, infinities, zeros of either sign or subnormals.
  bool edge_values = false;
  // The sizes of the inputs may break what an op assumes.
  bool misfit = false;
  // The pipeline that it is meant for; empty: any.
  std::string passes;
  // For metamorphic checks: the dim of each input that an index along `output_dim` of the output
  // selects from, or -1.
  std::vector<int> carries;
  int output_dim = 0;
  // The size of that dim may change.
  bool resizes = false;
};

using Dims = std::vector<int64_t>;

int64_t NumElements(absl::Span<const int64_t> dims);
// `tensor` with elements in [-2, 2), integers in [-4, 4], unsigned ones in [0, 4]; with `edge`
// some floats are edge values.
HostTensor DrawTensor(DType dtype, absl::Span<const int64_t> dims, bool edge, Random& random);

// Builds one program. Errors stick in builder().status().
class ProgramBuilder {
 public:
  struct Options {
    // Some sizes of inputs are symbols: equal sizes are one symbol.
    bool symbols = false;
    bool edge_values = false;
    // Operands are dense inputs only.
    bool plain = false;
  };
  ProgramBuilder(Random& random, const Options& options);

  Builder& builder() { return builder_; }
  Random& random() { return random_; }
  const Options& options() const { return options_; }

  // Sets whether new operands may have edge values, if the options allow them.
  void AllowEdges(bool allow) { edges_ = allow; }

  // A new operand of this type: an input or a constant, itself or a view of a larger one
  // (slice with a step, flip, permute, expand), or the result of a pointwise op.
  Value* Operand(DType dtype, const Dims& dims);
  // A dense input or constant.
  Value* Leaf(DType dtype, const Dims& dims);
  Value* Input(const HostTensor& tensor);
  // An operand that broadcasts to `dims`: some dims are 1, some leading ones are left out.
  Value* Broadcast(DType dtype, const Dims& dims);
  // A value of this program with these dims and dtype; null if there is none.
  Value* Existing(DType dtype, const Dims& dims);

  // Remembers `value` as one that later operands may alias, with the sizes that it has when the
  // program runs on its inputs.
  Value* Keep(Value* value);
  // Sizes of a value on the program's inputs; empty if they are not known.
  bool SizesOf(const Value* value, Dims* dims) const;

  // Takes the program, with these outputs.
  TestProgram Finish(absl::Span<Value* const> outputs);

 private:
  Type TypeOf(DType dtype, absl::Span<const int64_t> dims);
  Value* View(DType dtype, const Dims& dims);
  Value* Strided(DType dtype, const Dims& dims);
  Value* Permuted(DType dtype, const Dims& dims);
  Value* Expanded(DType dtype, const Dims& dims);

  Random& random_;
  const Options options_;
  bool edges_ = true;
  TestProgram program_;
  Graph* main_ = nullptr;
  Builder builder_;
  std::map<int64_t, SymInt> symbols_;  // By the size that they stand for.
  absl::flat_hash_map<SymInt, int64_t> values_;
  std::vector<Value*> kept_;
};

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_PROGRAM_H_
