// What the files share that speak to oneDNN. Its errors are exceptions here; Catch
// makes them statuses.
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

// Runs `fn`, which may throw what oneDNN throws.
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
// Any layout.
DnnDesc FreeDescOf(const DnnTensor& t);
// Channels last, as oneDNN wants activations that are not blocked.
DnnDesc ChannelsLastDescOf(const DnnTensor& t);
// Post-ops that store to `y`, and scratch memory that the caller has.
dnnl::primitive_attr MakeAttr(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y);

// How an operand gets to the primitive: through these layouts, the caller's first and
// the primitive's last.
struct DnnPath {
  std::vector<DnnDesc> stops;
  // This stop is made of the one before by splitting rows of `length`; -1: none.
  int split_at = -1;
  int64_t length = 0;
  std::vector<SplitPart> parts;
};

// What is read of an operand, and what the product sums: a dim of it, of which each
// `length` elements.
struct DnnOperandReading {
  DType dtype = DType::kF32;
  std::vector<SplitPart> parts;
  int dim = 0;
  int64_t length = 0;

  bool given(const DnnTensor& operand) const { return operand.dtype == dtype; }
};

// The operand as the primitive is to read it: dense, with the sum innermost, unless it
// is as given.
DnnTensor ReadAs(const DnnTensor& given, const DnnOperandReading& reading);
DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner, const DnnOperandReading& reading);
DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner);
bool operator==(const DnnPath& a, const DnnPath& b);

// A layout that these weights have been packed to before; null for none.
const DnnDesc* PackedLayout(const DnnConstant& constant, const DnnDesc& from,
                            const DnnOperandReading& reading);
// The weights at the path's end, made once.
dnnl::memory Pack(const DnnConstant& constant, const DnnPath& path);

// A stretch of a path.
struct DnnMove {
  dnnl::memory from, to;
  dnnl::reorder reorder;
  int64_t split = 0;  // The length of rows to split instead; 0: none.
  std::vector<SplitPart> parts;

  void Run() const;
};
std::vector<DnnMove> MovesOf(const DnnPath& path);

// As primitive::execute, which makes a list on the heap.
void ExecuteDnn(const dnnl::primitive& primitive, absl::Span<const dnnl_exec_arg_t> args);

struct DnnOp::Impl {
  // An operand: as the caller has it and, where that differs, how it gets to where the
  // primitive has it, each stop in scratch at its offset.
  struct Operand {
    int slot = 0;
    int arg = 0;
    dnnl::memory user;
    std::vector<DnnMove> moves;
    std::vector<int64_t> offsets;
    bool result = false;
    std::vector<DnnMove> loads;  // Of a result that is read, too.
    bool fixed = false;          // Packed weights.

    const dnnl::memory& inner() const {
      return moves.empty() ? user : result ? moves.front().from : moves.back().to;
    }
  };

  void AddOperand(int slot, int arg, const DnnPath& path);
  void AddResult(const DnnDesc& user, const DnnDesc& inner);
  void AddWeights(const DnnPath& path, const DnnConstant& constant);
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

#endif  // WEFT_BACKENDS_CPU_ONEDNN_ONEDNN_INTERNAL_H_
