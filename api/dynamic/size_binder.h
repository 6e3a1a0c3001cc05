// The values that a call's inputs give to the symbols of a program, and what every
// call has to meet: the constraints.
//
// Constraints are the signature (dtypes, ranks, sizes that are constant or follow
// from other sizes, values that the program holds for alone) and the facts of the
// module's symbol table about symbols of the inputs. An input that breaks one is an
// error, whatever the program is compiled for. Facts about symbols that data
// defines are left to the executor.
//
// Everything is worked out once; a call runs steps over numbers.
#ifndef WEFT_API_DYNAMIC_SIZE_BINDER_H_
#define WEFT_API_DYNAMIC_SIZE_BINDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/dynamic/compiled_sym.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Graph;
class HostTensor;

// A condition on inputs in the words of a program, and where it comes from.
struct Constraint {
  std::string text;
  std::string origin;
};

class SizeBinder {
 public:
  // `main` outlives it and stays as it is.
  explicit SizeBinder(const Graph& main);

  // The symbols that inputs give values to, numbered.
  absl::Span<const SymInt> symbols() const { return symbols_; }
  // -1 for others.
  int NumberOf(SymInt symbol) const;
  // True when all symbols of `s` are numbered.
  bool Knows(SymInt s) const;
  // What gives the symbol its value: an input, and one of its dims or, for -1, its
  // value.
  struct Source {
    int input = -1;
    int dim = -1;
    bool bare = true;  // The size is the symbol; else the symbol is solved for.
  };
  const Source& source(int number) const { return sources_[number]; }
  // `dim 1 of "ids"`, or `"n"` for an integer.
  std::string SourceText(int number) const;
  // `s0 is 60 (dim 0 of "x"), s1 is 10 (dim 1 of "x")`, for the symbols of `s`.
  std::string ValuesText(SymInt s, absl::Span<const int64_t> values) const;

  // Checks the inputs, one for each of the function's, and sets `values` to those of
  // the symbols. InvalidArgument names input, dim, value and what is violated.
  absl::Status Bind(absl::Span<const HostTensor> inputs, std::vector<int64_t>* values) const;

  // What Bind checks of symbols.
  std::vector<Constraint> constraints() const;

 private:
  struct Step {
    enum class Kind { kBind, kSolve, kCheck } kind;
    int input;
    int dim;
    SymInt size;
    int number;  // Of the symbol that gets its value; -1 for kCheck.
    // The size; for kSolve what the symbol is multiplied with and what is added.
    std::vector<CompiledSym> code;
  };
  struct Pending {
    int input;
    int dim;
    SymInt size;
  };
  bool IsRead(int input) const;
  std::vector<Pending> Sizes() const;
  void BindBare(std::vector<Pending>* sizes);
  bool SolveOne(std::vector<Pending>* sizes);
  void CheckRest(const std::vector<Pending>& sizes);
  void AddStep(Step::Kind kind, const Pending& size, SymInt symbol, std::vector<SymInt> code);
  void CompileConditions();

  std::string InputText(int input) const;
  std::string StepText(const Step& step) const;
  absl::Status CheckInput(int input, const HostTensor& tensor) const;
  absl::Status RunStep(const Step& step, const HostTensor& tensor,
                       std::vector<int64_t>* values) const;
  absl::Status Solve(const Step& step, int64_t size, std::vector<int64_t>* values) const;
  absl::Status CheckFacts(absl::Span<const int64_t> values) const;
  absl::Status CheckRange(int number, int64_t value) const;

  const Graph& main_;
  std::vector<SymInt> symbols_;
  std::vector<Source> sources_;
  absl::flat_hash_map<SymInt, int> numbers_;
  std::vector<bool> needed_;  // By input: it is read, or gives a symbol its value.
  std::vector<Step> steps_;
  // Places in the symbol table's conditions, with their code.
  std::vector<std::pair<int, CompiledSym>> conditions_;
};

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_SIZE_BINDER_H_
