// One compiled form of a program, and what inputs have to meet so that it may run on
// them: its guards.
//
// A variant is made for the values of one call. Its guards come from what it fixes
// (VariantChoice) and from what the pipeline assumed on top of that: conditions in
// the module's symbol table, narrowed facts of symbols, refined types of inputs.
// Conditions about symbols that data defines are no guards; executors check them.
#ifndef WEFT_API_DYNAMIC_VARIANT_H_
#define WEFT_API_DYNAMIC_VARIANT_H_

#include <cstdint>
#include <memory>
#include <string>
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
#include "backends/runtime/size_program.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;
class SymbolTable;
struct SymCondition;

// Over the symbols of the program, or about the value of one input.
struct VariantGuard {
  SymInt condition;
  std::string origin;
  int input = -1;    // Of a value guard.
  HostTensor value;  // What the input has to be.
};

class Variant {
 public:
  struct Request {
    VariantChoice choice;
    std::vector<int64_t> sizes;  // The values of the program's symbols in the call.
    std::vector<HostTensor> inputs;
  };
  // Compiles a copy of `source`, whose inputs `size_program` binds. What the pipeline
  // assumes and the call does not meet is ruled out in another attempt; `compiles`
  // counts them. FailedPrecondition when no attempt takes the call.
  static absl::StatusOr<std::shared_ptr<Variant>> Make(const Module& source,
                                                       const SizeProgram& size_program,
                                                       Request request,
                                                       const ProgramOptions& options,
                                                       int64_t* compiles);

  const VariantChoice& choice() const { return request_.choice; }
  // The values of symbols that it was made for.
  absl::Span<const int64_t> sizes() const { return request_.sizes; }
  // "ids: i64[3, 7]", of the inputs without state.
  const std::string& inputs_text() const { return inputs_text_; }
  const std::vector<VariantGuard>& guards() const { return guards_; }
  // The place of the first guard that does not hold; -1: it takes the call.
  int FirstFailing(absl::Span<const int64_t> sizes, absl::Span<const HostTensor> inputs) const;

  const Module& module() const { return session_->module(); }
  // False for an input of the program that the pipeline has made a part of the code.
  bool TakesInput(int input) const { return places_[input] >= 0; }
  // Inputs are the program's, all given; `written` is by these inputs.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<HostTensor>* written) const;

 private:
  Variant() = default;
  absl::Status Compile(const Module& source, const SizeProgram& size_program,
                       const ProgramOptions& options);
  absl::Status Specialize(Module& module, const SizeProgram& size_program);
  // What is known before the pipeline runs: guards are what comes on top.
  struct Baseline {
    absl::flat_hash_set<SymInt> conditions;
    absl::flat_hash_map<std::string, Type> types;  // Of inputs.
  };
  static Baseline BaselineOf(const Module& module);
  void CollectGuards(const SymbolTable& constraints, const SizeProgram& size_program,
                     const Baseline& before, const Module& after);
  void MapInputs(const Graph& source);
  std::vector<SymCondition> Refuted() const;

  Request request_;
  std::string inputs_text_;
  std::vector<VariantGuard> guards_;
  std::vector<CompiledSym> code_;  // Of the guards that are conditions; they come first.
  std::unique_ptr<Session> session_;
  std::vector<int> places_;  // By input of the program: the module's input, or -1.
};

// The condition that makes a guard, in words: `s27 == 7`, or `"k" == [3]`.
std::string GuardText(const VariantGuard& guard, const Graph& main);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_VARIANT_H_
