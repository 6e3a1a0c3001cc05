// Decides which sizes a new variant of a program fixes, from the values in the calls that were
// compiled for so far.
#ifndef WEFT_API_DYNAMIC_SIZE_POLICY_H_
#define WEFT_API_DYNAMIC_SIZE_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/program_options.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/size_program.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;
class Module;

// The choice for one symbol in one variant.
struct SizeChoice {
  // A number, the symbol itself (symbolic), or another symbol that it equals.
  SymInt value;
  std::string why;
};

// The choice for an input in `specialized_values`.
struct ValueChoice {
  int input = -1;
  bool fixed = true;
  std::string why;
};

struct VariantChoice {
  std::vector<SizeChoice> sizes;  // By number of the size program.
  std::vector<ValueChoice> values;
  // Further conditions that the variant may assume.
  std::vector<SymCondition> assumptions;
};

class SizePolicy {
 public:
  SizePolicy(const Graph& main, const SizeProgram& size_program, const ProgramOptions& options);
  // InvalidArgument if marks or specialized values do not fit the program.
  absl::Status Check();

  // Chooses for a call that no variant accepts. Inputs that are specialized on are on the host.
  VariantChoice Choose(absl::Span<const int64_t> sizes, absl::Span<const RunInput> inputs);

  // InvalidArgument if an input that is specialized on is in the memory of a device. Thread-safe.
  absl::Status CheckOnHost(absl::Span<const RunInput> inputs) const;

 private:
  absl::Status AddMark(const MarkedDim& mark);
  absl::Status AddValue(const std::string& name);
  SizeChoice ChooseSize(int number, int64_t size);
  ValueChoice ChooseValue(size_t place, const HostTensor& value);
  void FixDimsOf(const ValueChoice& choice, absl::Span<const int64_t> sizes,
                 VariantChoice* result) const;
  void ShareEqualSizes(absl::Span<const int64_t> sizes, VariantChoice* result) const;

  // Values seen so far, by symbol.
  struct Seen {
    const MarkedDim* mark = nullptr;
    bool any = false;
    int64_t first = 0;
    bool changed = false;
    int64_t other = 0;  // The first value that differed.
  };
  struct SeenValue {
    int input = -1;
    HostTensor first;
    bool changed = false;
  };
  const Graph& main_;
  const SizeProgram& size_program_;
  const ProgramOptions& options_;
  std::vector<Seen> seen_;
  std::vector<SeenValue> seen_values_;
};

// The input with that name; an error lists the inputs.
absl::StatusOr<int> FindInput(const Graph& main, absl::string_view name);

// Adds the ranges of marked dims to the module's facts.
absl::Status AssumeMarkedRanges(Module& module, absl::Span<const MarkedDim> marks);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_SIZE_POLICY_H_
