// Computes the values of symbols from the inputs of a call, and checks the constraints on the
// inputs.
//
// Constraints are the signature (dtypes, ranks, sizes that are constant or follow from other sizes,
// required values) and the facts about symbols of the inputs. If an input breaks one,
// InvalidArgument names the input, the dim, its size, the required size and the reason. Facts about
// data-dependent symbols are checked by the executor.
//
// An unused input may have any shape, unless only it defines a symbol (Options).
//
// The constructor does all analysis, in near-linear time; a call runs steps on numbers. Const
// methods are thread-safe.
#ifndef WEFT_BACKENDS_RUNTIME_SIZE_PROGRAM_H_
#define WEFT_BACKENDS_RUNTIME_SIZE_PROGRAM_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/runtime/compiled_sym.h"
#include "backends/runtime/run_input.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {

class SymbolTable;

// A condition on inputs in the words of the source program, and its origin.
struct Constraint {
  std::string text;
  std::string origin;
};

class SizeProgram {
 public:
  // Marks a symbol without a value.
  static constexpr int64_t kNoValue = std::numeric_limits<int64_t>::min();

  struct Options {
    // Symbols with values from elsewhere: those of an outer plan. They are numbered first, and
    // facts about them alone are not checked again.
    std::vector<SymInt> known;
    // True: every symbol must get a value, else the call is refused. False: a symbol may stay
    // without one if only an unused input defines it and does not fit, or if its size is 0 times
    // the symbol; the range of a symbol that an unused input defines is not checked either.
    bool complete = true;
  };
  // The constant with a number (PlanInput::value); null if there is none.
  using ConstantFn = absl::FunctionRef<const HostTensor*(int)>;

  // `facts` outlives this object and must not change.
  SizeProgram(absl::Span<const PlanInput> inputs, const SymbolTable& facts, ConstantFn constant,
              Options options);

  // The known symbols and those that inputs define, in the order of their numbers.
  absl::Span<const SymInt> symbols() const { return symbols_; }
  // The symbols of Options::known.
  absl::Span<const SymInt> known() const { return symbols().first(num_known_); }
  // The symbol's number; -1 if it has none.
  int NumberOf(SymInt symbol) const;
  // True if all symbols of `s` are numbered.
  bool Knows(SymInt s) const;
  // The source of a symbol's value: an input, and one of its dims or, for -1, its value.
  struct Source {
    int input = -1;  // -1: the symbol is in Options::known.
    int dim = -1;
    bool bare = true;  // The size is the symbol; false: it is solved for the symbol.
  };
  const Source& source(int number) const { return sources_[number]; }
  // `dim 1 of "ids"`, or `"n"` for an integer; an unnamed input is `input 2`. Requires a symbol
  // that an input defines.
  std::string SourceText(int number) const;

  // Checks the inputs, one per input of the program, and sets `values` to those of the symbols.
  // `known` has the values of Options::known. Integers that are sizes, and inputs with required
  // values, must be in the host's memory.
  absl::Status Bind(absl::Span<const RunInput> inputs, absl::Span<const int64_t> known,
                    std::vector<int64_t>* values) const;
  absl::Status Bind(absl::Span<const HostTensor> inputs, std::vector<int64_t>* values) const;

  // The parts of Bind that do not depend on sizes, for calls whose sizes were bound before. Checks
  // that there is one tensor per input.
  absl::Status CheckPresent(absl::Span<const RunInput> inputs) const;
  // Checks that inputs with a required value have it.
  absl::Status CheckValues(absl::Span<const RunInput> inputs) const;

  // The constraints on symbols that Bind checks.
  std::vector<Constraint> constraints() const;

 private:
  class Solver;
  struct Size {
    int input;
    int dim;  // -1: the value.
    SymInt size;
  };
  struct Step {
    enum class Kind {
      kBind,    // The symbol is the size.
      kSolve,   // The size is code[0] times the symbol plus code[1].
      kCheck,   // The size is a constant, or code[0].
      kRefuse,  // The size has symbols without a source.
    };
    Kind kind;
    Size size;
    int number;              // The symbol that gets a value; -1: none.
    std::vector<int> reads;  // Numbers of the symbols in `code`.
    std::vector<CompiledSym> code;
  };
  struct Condition {
    int place;  // Index in the facts' conditions.
    std::vector<int> reads;
    CompiledSym code;
  };
  std::vector<Size> Sizes(bool read) const;
  void AddStep(Step::Kind kind, const Size& size, SymInt symbol, absl::Span<const SymInt> code);
  void CompileConditions();
  CompiledSym Compile(SymInt s) const;
  std::vector<int> NumbersIn(SymInt s) const;

  std::string InputText(int input) const;
  std::string SizeText(const Size& size) const;
  std::string ValuesText(SymInt s, absl::Span<const int64_t> values) const;
  std::string NearestText(absl::Span<const int64_t> values) const;
  bool FitsType(int input, const RunInput& tensor) const;
  absl::Status NotOnHost(int input, absl::string_view reason) const;
  absl::Status CheckType(int input, const RunInput& tensor) const;
  absl::Status RunStep(const Step& step, const RunInput& tensor,
                       std::vector<int64_t>* values) const;
  absl::Status Check(const Step& step, int64_t size, absl::Span<const int64_t> values) const;
  absl::Status Solve(const Step& step, int64_t size, std::vector<int64_t>* values) const;
  absl::Status CheckConditions(absl::Span<const int64_t> values) const;
  absl::Status CheckRange(int number, absl::Span<const int64_t> values) const;

  std::vector<PlanInput> inputs_;
  const SymbolTable* facts_;
  size_t num_known_;
  bool complete_;
  std::vector<SymInt> symbols_;
  std::vector<Source> sources_;
  absl::flat_hash_map<SymInt, int> numbers_;
  // By input: it must fit its type, because it is read or defines a symbol that must have a value.
  std::vector<bool> needed_;
  std::vector<Step> steps_;
  std::vector<Condition> conditions_;
  // Inputs with required values; the tensor is invalid if the constant is missing.
  std::vector<std::pair<int, HostTensor>> fixed_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_SIZE_PROGRAM_H_
