// Decides which sizes a new variant of a program fixes. It remembers the values that
// calls which had to be compiled for came with.
#ifndef WEFT_API_DYNAMIC_SIZE_POLICY_H_
#define WEFT_API_DYNAMIC_SIZE_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/program_options.h"
#include "backends/runtime/size_program.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;
class Module;

// Of one symbol in one variant.
struct SizeChoice {
  // A number, the symbol itself (symbolic), or another one that it is equal to.
  SymInt value;
  std::string why;
};

// Of an input in `specialized_values`.
struct ValueChoice {
  int input = -1;
  bool fixed = true;
  std::string why;
};

struct VariantChoice {
  std::vector<SizeChoice> sizes;  // By the size program's numbers.
  std::vector<ValueChoice> values;
  // What else the variant may take for granted.
  std::vector<SymCondition> assumptions;
};

class SizePolicy {
 public:
  SizePolicy(const Graph& main, const SizeProgram& size_program, const ProgramOptions& options);
  // InvalidArgument for marks and specialized values that do not fit the program.
  absl::Status Check();

  // For a call that no variant takes.
  VariantChoice Choose(absl::Span<const int64_t> sizes, absl::Span<const HostTensor> inputs);

 private:
  absl::Status AddMark(const MarkedDim& mark);
  absl::Status AddValue(const std::string& name);
  SizeChoice ChooseSize(int number, int64_t size);
  ValueChoice ChooseValue(size_t place, const HostTensor& value);
  void FixDimsOf(const ValueChoice& choice, absl::Span<const int64_t> sizes,
                 VariantChoice* result) const;
  void ShareEqualSizes(absl::Span<const int64_t> sizes, VariantChoice* result) const;

  // By symbol.
  struct Seen {
    const MarkedDim* mark = nullptr;
    bool any = false;
    int64_t first = 0;
    bool changed = false;
    int64_t other = 0;  // The first one that differed.
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

// The input of that name, or an error that says which there are.
absl::StatusOr<int> FindInput(const Graph& main, absl::string_view name);

// Adds what marks say of their dims to the module's facts.
absl::Status AssumeMarkedRanges(Module& module, absl::Span<const MarkedDim> marks);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_SIZE_POLICY_H_
