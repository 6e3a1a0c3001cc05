#include "backends/cpu/onednn.h"

#include <sys/mman.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/onednn_internal.h"

namespace weft::cpu {
namespace {

int64_t Align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

dnnl::memory::data_type TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return dnnl::memory::data_type::f32;
    case DType::kBF16:
      return dnnl::memory::data_type::bf16;
    case DType::kF16:
      return dnnl::memory::data_type::f16;
    case DType::kI8:
      return dnnl::memory::data_type::s8;
    case DType::kU8:
      return dnnl::memory::data_type::u8;
    case DType::kI32:
      return dnnl::memory::data_type::s32;
    default:
      return dnnl::memory::data_type::undef;
  }
}

dnnl::algorithm AlgorithmOf(DnnFunction function) {
  switch (function) {
    case DnnFunction::kRelu:
      return dnnl::algorithm::eltwise_relu;
    case DnnFunction::kElu:
      return dnnl::algorithm::eltwise_elu;
    case DnnFunction::kTanh:
      return dnnl::algorithm::eltwise_tanh;
    case DnnFunction::kSigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case DnnFunction::kGeluErf:
      return dnnl::algorithm::eltwise_gelu_erf;
    case DnnFunction::kGeluTanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case DnnFunction::kSwish:
      return dnnl::algorithm::eltwise_swish;
    case DnnFunction::kHardSwish:
      return dnnl::algorithm::eltwise_hardswish;
    case DnnFunction::kExp:
      return dnnl::algorithm::eltwise_exp;
    case DnnFunction::kAbs:
      return dnnl::algorithm::eltwise_abs;
    case DnnFunction::kSqrt:
      return dnnl::algorithm::eltwise_sqrt;
    case DnnFunction::kClip:
      return dnnl::algorithm::eltwise_clip_v2;
    case DnnFunction::kLinear:
      return dnnl::algorithm::eltwise_linear;
    case DnnFunction::kAdd:
      return dnnl::algorithm::binary_add;
    case DnnFunction::kSub:
      return dnnl::algorithm::binary_sub;
    case DnnFunction::kMul:
      return dnnl::algorithm::binary_mul;
    case DnnFunction::kDiv:
      return dnnl::algorithm::binary_div;
    case DnnFunction::kMaximum:
      return dnnl::algorithm::binary_max;
    case DnnFunction::kMinimum:
      return dnnl::algorithm::binary_min;
    case DnnFunction::kAccumulate:
    case DnnFunction::kNone:
      break;
  }
  return dnnl::algorithm::undef;
}

}  // namespace

DnnMachine& TheDnnMachine() {
  static DnnMachine& machine = *new DnnMachine;
  return machine;
}

DnnDesc DescOf(const DnnTensor& t) {
  if (t.dims.empty()) return DnnDesc();
  return DnnDesc(t.dims, TypeOf(t.dtype), t.strides);
}

DnnDesc FreeDescOf(const DnnTensor& t) {
  return DnnDesc(t.dims, TypeOf(t.dtype), dnnl::memory::format_tag::any);
}

DnnDesc ChannelsLastDescOf(const DnnTensor& t) {
  std::vector<int64_t> strides(t.dims.size());
  strides[1] = 1;
  int64_t stride = t.dims[1];
  for (size_t i = t.dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= t.dims[i];
  }
  strides[0] = stride;
  return DnnDesc(t.dims, TypeOf(t.dtype), strides);
}

namespace {

// How the primitive is to find the operand: one of the result's sizes has its layout,
// or primitives over im2col are all that takes it.
DnnDesc OperandDesc(const DnnPostOp& op, const DnnTensor& y) {
  DnnTensor operand = op.operand;
  if (operand.dims == y.dims) operand.strides = y.strides;
  return DescOf(operand);
}

}  // namespace

dnnl::primitive_attr MakeAttr(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y) {
  dnnl::post_ops ops;
  for (const DnnPostOp& op : post_ops) {
    if (op.function == DnnFunction::kAccumulate) {
      ops.append_sum(1.0f);
    } else if (op.function >= DnnFunction::kAdd) {
      ops.append_binary(AlgorithmOf(op.function), OperandDesc(op, y));
    } else {
      ops.append_eltwise(1.0f, AlgorithmOf(op.function), op.alpha, op.beta);
    }
  }
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(ops);
  return attr;
}

// --- Weights ------------------------------------------------------------------------

struct DnnWeights::Store {
  struct Entry {
    DnnDesc from;
    DnnDesc to;
    dnnl::memory memory;
  };
  absl::flat_hash_map<int64_t, std::vector<Entry>> entries;
  int64_t bytes = 0;
};

DnnWeights::DnnWeights() : store_(std::make_unique<Store>()) {}
DnnWeights::~DnnWeights() = default;
int64_t DnnWeights::bytes() const { return store_->bytes; }

namespace {

// Nothing reads the weights as they were any more, mostly: pages of a file can go.
void PageOut(const void* data, int64_t bytes) {
#ifdef MADV_PAGEOUT
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / kPage * kPage;
  // Advice: what is read after all comes back.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_PAGEOUT);
#endif
}

// The weights in layout `to`.
dnnl::memory Pack(const DnnConstant& constant, const DnnDesc& from, const DnnDesc& to) {
  auto& entries = constant.weights->store()->entries[constant.key];
  for (const auto& entry : entries) {
    if (entry.from == from && entry.to == to) return entry.memory;
  }
  DnnMachine& machine = TheDnnMachine();
  dnnl::memory source(from, machine.engine, const_cast<void*>(constant.data));
  dnnl::memory packed(to, machine.engine);
  dnnl::reorder(source, packed).execute(machine.stream, source, packed);
  machine.stream.wait();
  PageOut(constant.data, static_cast<int64_t>(from.get_size()));
  constant.weights->store()->bytes += static_cast<int64_t>(to.get_size());
  entries.push_back({from, to, packed});
  return packed;
}

}  // namespace

const DnnDesc* PackedLayout(const DnnConstant& constant, const DnnDesc& from) {
  if (constant.weights == nullptr) return nullptr;
  const auto& store = *constant.weights->store();
  const auto it = store.entries.find(constant.key);
  if (it == store.entries.end()) return nullptr;
  for (const auto& entry : it->second) {
    if (entry.from == from) return &entry.to;
  }
  return nullptr;
}

// --- Ops ----------------------------------------------------------------------------

void DnnOp::Impl::AddOperand(int slot, int arg, const DnnDesc& user, const DnnDesc& inner,
                             bool result) {
  DnnMachine& machine = TheDnnMachine();
  Operand operand;
  operand.slot = slot;
  operand.arg = arg;
  operand.result = result;
  operand.user = dnnl::memory(user, machine.engine, nullptr);
  if (user != inner) {
    operand.inner = dnnl::memory(inner, machine.engine, nullptr);
    operand.reorder = result ? dnnl::reorder(operand.inner, operand.user)
                             : dnnl::reorder(operand.user, operand.inner);
    operand.offset = scratch_bytes;
    scratch_bytes += Align(static_cast<int64_t>(inner.get_size()));
    ++reorders;
  }
  operands.push_back(std::move(operand));
}

void DnnOp::Impl::AddWeights(const DnnDesc& user, const DnnDesc& inner,
                             const DnnConstant& constant) {
  if (constant.data == nullptr || user == inner) {
    return AddOperand(kDnnWeights, DNNL_ARG_WEIGHTS, user, inner, false);
  }
  Operand operand;
  operand.slot = kDnnWeights;
  operand.arg = DNNL_ARG_WEIGHTS;
  operand.user = Pack(constant, user, inner);
  operand.fixed = true;
  operands.push_back(std::move(operand));
}

void DnnOp::Impl::AddPostOps(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y) {
  int slot = kDnnFirstPostOp;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].function == DnnFunction::kAccumulate) Accumulate();
    if (post_ops[i].function < DnnFunction::kAdd) continue;
    AddOperand(slot++, DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
               DescOf(post_ops[i].operand), OperandDesc(post_ops[i], y), false);
  }
}

void DnnOp::Impl::Accumulate() {
  for (Operand& operand : operands) {
    if (!operand.result || operand.offset < 0) continue;
    operand.load = dnnl::reorder(operand.user, operand.inner);
    operand.accumulated = true;
    ++reorders;
  }
}

void DnnOp::Impl::Finish(const dnnl::primitive_desc_base& pd, dnnl::primitive made) {
  primitive = std::move(made);
  const DnnDesc desc = pd.scratchpad_desc();
  scratchpad = dnnl::memory(desc, TheDnnMachine().engine, nullptr);
  scratchpad_at = scratch_bytes;
  scratch_bytes += Align(static_cast<int64_t>(desc.get_size()));
  for (const Operand& operand : operands) {
    args.push_back({operand.arg, (operand.offset >= 0 ? operand.inner : operand.user).get()});
  }
  args.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  implementation = pd.impl_info_str();
}

namespace {

// As primitive::execute, which makes a list on the heap.
void Execute(const dnnl::primitive& primitive, absl::Span<const dnnl_exec_arg_t> args) {
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), TheDnnMachine().stream.get(),
                                                 static_cast<int>(args.size()), args.data()),
                          "a primitive failed");
}

void Reorder(const dnnl::reorder& reorder, const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  Execute(reorder, args);
}

}  // namespace

void DnnOp::Impl::Run(absl::Span<void* const> slots, char* scratch) {
  for (Operand& operand : operands) {
    if (!operand.fixed) operand.user.set_data_handle(slots[operand.slot]);
    if (operand.offset < 0) continue;
    operand.inner.set_data_handle(scratch + operand.offset);
    if (!operand.result) Reorder(operand.reorder, operand.user, operand.inner);
    if (operand.accumulated) Reorder(operand.load, operand.user, operand.inner);
  }
  scratchpad.set_data_handle(scratch + scratchpad_at);
  Execute(primitive, args);
  for (Operand& operand : operands) {
    if (operand.offset < 0 || !operand.result) continue;
    Reorder(operand.reorder, operand.inner, operand.user);
  }
  TheDnnMachine().stream.wait();
}

DnnOp::DnnOp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DnnOp::~DnnOp() = default;
int64_t DnnOp::scratch_bytes() const { return impl_->scratch_bytes; }
const std::string& DnnOp::implementation() const { return impl_->implementation; }
int DnnOp::num_reorders() const { return impl_->reorders; }

absl::Status DnnOp::Run(absl::Span<void* const> slots, void* scratch) {
  return Catch([&] {
    impl_->Run(slots, static_cast<char*>(scratch));
    return absl::OkStatus();
  });
}

void LimitDnn(Isa isa) {
  if (isa == Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
}

}  // namespace weft::cpu
