// The values that the inputs of a call give to symbols, and the checks that every call has to pass:
// the constraints.
//
// Constraints are the signature (dtypes, ranks, sizes that are constant or follow from other sizes,
// values that the program holds for alone) and the facts about symbols of the inputs. An input that
// breaks one is an InvalidArgument that names the input, the dim, its size, the size that it has to
// be and why. Facts about symbols that data defines are left to the executor.
//
// An input that nothing reads may be anything, unless it alone gives a symbol its value (Options).
//
// Everything is worked out once, near-linearly in the sizes; a call runs steps over numbers.
// Const methods may be called by several threads at once.
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
#include "absl/types/span.h"
#include "backends/runtime/compiled_sym.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {

class SymbolTable;

// A condition on inputs in the words of a program, and where it comes from.
struct Constraint {
  std::string text;
  std::string origin;
};

class SizeProgram {
 public:
  // The value of a symbol that has none.
  static constexpr int64_t kNoValue = std::numeric_limits<int64_t>::min();

  struct Options {
    // Symbols that have values before the inputs are seen: those of an outer plan. They are
    // numbered first, and facts about them alone are not checked again.
    std::vector<SymInt> known;
    // Every symbol gets a value, or the call is refused. false: a symbol has none if an unread
    // input alone gives it and does not fit, or if the size that gives it has it times 0. The range
    // of a symbol that an unread input gives is not checked either.
    bool complete = true;
  };
  // The constant of a number (PlanInput::value); null: there is none.
  using ConstantFn = absl::FunctionRef<const HostTensor*(int)>;

  // `facts` outlives it and stays as it is.
  SizeProgram(absl::Span<const PlanInput> inputs, const SymbolTable& facts, ConstantFn constant,
              Options options);

  // The symbols that are known or that inputs give values to, numbered.
  absl::Span<const SymInt> symbols() const { return symbols_; }
  // Those of Options::known.
  absl::Span<const SymInt> known() const { return symbols().first(num_known_); }
  // -1 for others.
  int NumberOf(SymInt symbol) const;
  // True when all symbols of `s` are numbered.
  bool Knows(SymInt s) const;
  // The place that gives the symbol its value: an input, and one of its dims or, for -1, its value.
  struct Source {
    int input = -1;  // -1: the symbol is known before.
    int dim = -1;
    bool bare = true;  // The size is the symbol; else the symbol is solved for.
  };
  const Source& source(int number) const { return sources_[number]; }
  // `dim 1 of "ids"`, or `"n"` for an integer; an input without a name is `input 2`. Of a symbol
  // that an input gives.
  std::string SourceText(int number) const;

  // Checks the inputs, one for each of the program's, and sets `values` to those of the symbols.
  // `known` has values for the symbols of Options::known.
  absl::Status Bind(absl::Span<const HostTensor> inputs, absl::Span<const int64_t> known,
                    std::vector<int64_t>* values) const;
  absl::Status Bind(absl::Span<const HostTensor> inputs, std::vector<int64_t>* values) const {
    return Bind(inputs, {}, values);
  }

  // The parts of Bind that do not depend on sizes, for calls whose sizes have been met: there is
  // one tensor for each input;
  absl::Status CheckPresent(absl::Span<const HostTensor> inputs) const;
  // and inputs have the values that the program holds for.
  absl::Status CheckValues(absl::Span<const HostTensor> inputs) const;

  // The conditions on symbols that Bind checks.
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
      kRefuse,  // The size has symbols that nothing gives values to.
    };
    Kind kind;
    Size size;
    int number;              // The symbol that gets its value; -1: none.
    std::vector<int> reads;  // Numbers of the symbols in `code`.
    std::vector<CompiledSym> code;
  };
  struct Condition {
    int place;  // In the facts' conditions.
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
  bool FitsType(int input, const HostTensor& tensor) const;
  absl::Status CheckType(int input, const HostTensor& tensor) const;
  absl::Status RunStep(const Step& step, const HostTensor& tensor,
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
  // By input: it has to fit its type, for it is read or gives a symbol a value that has to be.
  std::vector<bool> needed_;
  std::vector<Step> steps_;
  std::vector<Condition> conditions_;
  // Inputs that have to be constants; an invalid tensor where there is none of the number.
  std::vector<std::pair<int, HostTensor>> fixed_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_SIZE_PROGRAM_H_
