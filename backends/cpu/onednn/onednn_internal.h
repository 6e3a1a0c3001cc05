// Declarations shared by the files that use oneDNN. Errors are exceptions in these files; Catch
// turns them into statuses.
#ifndef WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_INTERNAL_H_
#define WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_INTERNAL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/split_row.h"
#include "backends/cpu/onednn/onednn.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace weft::cpu {

using DnnDesc = dnnl::memory::desc;

struct DnnMachine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
DnnMachine& TheDnnMachine();

// Runs `fn`, which may throw oneDNN's exceptions.
template <typename Fn>
absl::Status Catch(Fn fn) {
  try {
    return fn();
  } catch (const dnnl::error& e) {
    return absl::UnimplementedError(absl::StrCat("oneDNN: ", e.what()));
  }
}

dnnl::memory::data_type DnnTypeOf(DType dtype);
DnnDesc DescOf(const DnnTensor& t);
// A description with any layout.
DnnDesc FreeDescOf(const DnnTensor& t);
// Channels last, which oneDNN prefers for activations that are not blocked.
DnnDesc ChannelsLastDescOf(const DnnTensor& t);
// Attributes with post-ops that store to `y`, and with scratch memory from the caller.
dnnl::primitive_attr MakeAttr(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y);

// The layouts through which an operand is reordered: the caller's first, the primitive's last.
struct DnnPath {
  std::vector<DnnDesc> stops;
  // Index of the stop that is made by splitting rows of `length`; -1: none.
  int split_at = -1;
  int64_t length = 0;
  std::vector<SplitPart> parts;
};

// The dtype and parts in which an operand is read, and the dim of its depth, with `length`
// elements.
struct DnnOperandReading {
  DType dtype = DType::kF32;
  std::vector<SplitPart> parts;
  int dim = 0;
  int64_t length = 0;

  bool given(const DnnTensor& operand) const { return operand.dtype == dtype; }
};

// The operand in the form that the primitive reads: as given, or dense with the depth innermost.
DnnTensor ReadAs(const DnnTensor& given, const DnnOperandReading& reading);
DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner, const DnnOperandReading& reading);
DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner);
bool operator==(const DnnPath& a, const DnnPath& b);

// A layout in which these weights are already packed; null if there is none.
const DnnDesc* PackedLayout(const DnnConstant& constant, const DnnDesc& from,
                            const DnnOperandReading& reading);
// The weights at the end of the path, made once.
dnnl::memory Pack(const DnnConstant& constant, const DnnPath& path);

// One reorder of a path.
struct DnnMove {
  dnnl::memory from, to;
  dnnl::reorder reorder;
  int64_t split = 0;  // Length of rows to split instead; 0: a reorder.
  std::vector<SplitPart> parts;

  void Run() const;
};
std::vector<DnnMove> MovesOf(const DnnPath& path);

// primitive::execute without a list on the heap.
void ExecuteDnn(const dnnl::primitive& primitive, absl::Span<const dnnl_exec_arg_t> args);

struct DnnOp::Impl {
  // An operand: its memory, and, if the primitive uses another layout, the reorders between them,
  // each stop at an offset in scratch.
  struct Operand {
    int slot = 0;
    int arg = 0;
    dnnl::memory user;
    std::vector<DnnMove> moves;
    std::vector<int64_t> offsets;
    bool result = false;
    std::vector<DnnMove> loads;  // Also of a result that is read.
    bool fixed = false;          // Packed weights.

    const dnnl::memory& inner() const {
      return moves.empty() ? user : result ? moves.front().from : moves.back().to;
    }
  };

  void AddOperand(int slot, int arg, const DnnPath& path);
  void AddResult(const DnnDesc& user, const DnnDesc& inner);
  void AddWeights(const DnnPath& path, const DnnConstant& constant);
  // Marks the result's memory, already added, as read before it is written.
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

#endif  // WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_INTERNAL_H_
