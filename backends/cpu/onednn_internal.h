// What the files share that speak to oneDNN. Its errors are exceptions here; Catch
// makes them statuses.
#ifndef WEFT_BACKENDS_CPU_ONEDNN_INTERNAL_H_
#define WEFT_BACKENDS_CPU_ONEDNN_INTERNAL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/onednn.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace weft::cpu {

using DnnDesc = dnnl::memory::desc;

struct DnnMachine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
DnnMachine& TheDnnMachine();

// Runs `fn`, which may throw what oneDNN throws.
template <typename Fn>
absl::Status Catch(Fn fn) {
  try {
    return fn();
  } catch (const dnnl::error& e) {
    return absl::UnimplementedError(absl::StrCat("oneDNN: ", e.what()));
  }
}

DnnDesc DescOf(const DnnTensor& t);
// Any layout.
DnnDesc FreeDescOf(const DnnTensor& t);
// Channels last, as oneDNN wants activations that are not blocked.
DnnDesc ChannelsLastDescOf(const DnnTensor& t);
// Post-ops that store to `y`, and scratch memory that the caller has.
dnnl::primitive_attr MakeAttr(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y);

// A layout that these weights have been packed to before; null for none.
const DnnDesc* PackedLayout(const DnnConstant& constant, const DnnDesc& from);

struct DnnOp::Impl {
  // An operand: as the caller has it and, where that differs, as the primitive has it,
  // in scratch at `offset`.
  struct Operand {
    int slot = 0;
    int arg = 0;
    dnnl::memory user;
    dnnl::memory inner;
    dnnl::reorder reorder;
    int64_t offset = -1;
    bool result = false;
    bool accumulated = false;  // A result that is read, too: with `load`.
    dnnl::reorder load;
    bool fixed = false;  // Packed weights.
  };

  void AddOperand(int slot, int arg, const DnnDesc& user, const DnnDesc& inner, bool result);
  void AddWeights(const DnnDesc& user, const DnnDesc& inner, const DnnConstant& constant);
  // The result's memory is read before it is written; it has been added.
  void Accumulate();
  void AddPostOps(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y);
  void Finish(const dnnl::primitive_desc_base& pd, dnnl::primitive made);
  void Run(absl::Span<void* const> slots, char* scratch);

  std::vector<Operand> operands;
  dnnl::primitive primitive;
  dnnl::memory scratchpad;
  int64_t scratchpad_at = 0;
  int64_t scratch_bytes = 0;
  std::vector<dnnl_exec_arg_t> args;
  std::string implementation;
  int reorders = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_ONEDNN_INTERNAL_H_
