// One compiled form of a program with its guards: the conditions on inputs under which it may run.
//
// A variant is made for the values of one call. Its guards are the sizes that it fixes
// (VariantChoice) and the conditions that the pipeline assumed: conditions in the module's symbol
// table, narrowed facts of symbols, refined types of inputs. Conditions on data-dependent symbols
// are not guards; executors check them.
#ifndef WEFT_API_DYNAMIC_VARIANT_H_
#define WEFT_API_DYNAMIC_VARIANT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/dynamic/size_policy.h"
#include "api/program_options.h"
#include "api/session.h"
#include "backends/runtime/compiled_sym.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/size_program.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;
class SymbolTable;
struct SymCondition;

// A condition on the symbols of the program, or on the value of one input.
struct VariantGuard {
  SymInt condition;
  std::string origin;
  int input = -1;    // For a value guard.
  HostTensor value;  // The required value of the input.
  // The value is the input's initial one, which is required as it is: the same tensor.
  bool is_frozen = false;
};

class Variant {
 public:
  struct Request {
    VariantChoice choice;
    std::vector<int64_t> sizes;  // The values of the program's symbols in the call.
    std::vector<RunInput> inputs;
    // By input: its state has been exchanged, so that the pipeline must not take it for a constant.
    std::vector<bool> exchanged;
  };
  // Compiles a copy of `source`, whose inputs `size_program` binds. If the pipeline assumes a
  // condition that the call does not satisfy, another attempt excludes it; `compiles` counts the
  // attempts. FailedPrecondition if no attempt accepts the call.
  static absl::StatusOr<std::shared_ptr<Variant>> Make(const Module& source,
                                                       const SizeProgram& size_program,
                                                       Request request,
                                                       const ProgramOptions& options,
                                                       int64_t* compiles);

  const VariantChoice& choice() const { return request_.choice; }
  // The values of symbols in the call that it was made for.
  absl::Span<const int64_t> sizes() const { return request_.sizes; }
  // "ids: i64[3, 7]", for the inputs without state.
  const std::string& inputs_text() const { return inputs_text_; }
  const std::vector<VariantGuard>& guards() const { return guards_; }
  // True if all guards hold, and inputs that the pipeline made constants have their initial values.
  bool Accepts(absl::Span<const int64_t> sizes, absl::Span<const RunInput> inputs) const;
  // The first of these conditions that does not hold. Requires that the call is not accepted.
  VariantGuard FirstFailing(absl::Span<const int64_t> sizes,
                            absl::Span<const RunInput> inputs) const;

  const Module& module() const { return session_->module(); }
  // `inputs` are all inputs of the program; `written` is by these inputs.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<HostTensor>* written) const;
  // The same on tensors of the device. Inputs marked in `donated` that the variant writes may be
  // overwritten.
  absl::StatusOr<std::vector<DeviceTensor>> RunOnDevice(std::vector<DeviceTensor>* inputs,
                                                        const std::vector<bool>& donated,
                                                        const DeviceRunOptions& options,
                                                        std::vector<DeviceTensor>* written) const;
  // True if the input is one of the variant's code, and not a constant there.
  bool Takes(int input) const { return places_[input] >= 0; }
  const Session& session() const { return *session_; }

 private:
  Variant() = default;
  absl::Status Compile(const Module& source, const SizeProgram& size_program,
                       const ProgramOptions& options);
  absl::Status Specialize(Module& module, const SizeProgram& size_program);
  // The facts before the pipeline runs; later facts become guards.
  struct Baseline {
    absl::flat_hash_set<SymInt> conditions;
    absl::flat_hash_map<std::string, Type> types;  // Types of the inputs.
  };
  static Baseline BaselineOf(const Module& module);
  void CollectGuards(const SymbolTable& constraints, const SizeProgram& size_program,
                     const Baseline& before, const Module& after);
  void MapInputs(const Graph& source);
  // Indices in guards_ and frozen_; -1: all hold. Both run at every call.
  int FirstFailingGuard(absl::Span<const int64_t> sizes, absl::Span<const RunInput> inputs) const;
  int FirstExchanged(absl::Span<const RunInput> inputs) const;
  std::vector<SymCondition> Refuted() const;

  Request request_;
  std::string inputs_text_;
  std::vector<VariantGuard> guards_;
  // Code of the guards that are conditions, which are first in the list.
  std::vector<CompiledSym> code_;
  std::unique_ptr<Session> session_;
  std::vector<int> places_;  // By input of the program: input of the module, or -1.
  std::vector<std::pair<int, HostTensor>> frozen_;  // Inputs that are constants, and their values.
};

// True if the tensors are the same elements in the same memory.
bool HasSameMemory(const RunInput& input, const HostTensor& b);

// The condition of a guard in words: `s27 == 7`, `"k" == [3]`, or `"fc.weight" as the model has
// it`.
std::string GuardText(const VariantGuard& guard, const Graph& main);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_VARIANT_H_
