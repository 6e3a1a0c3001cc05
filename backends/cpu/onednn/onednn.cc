#include "backends/cpu/onednn/onednn.h"

#include <utility>

#include "backends/cpu/onednn/onednn_internal.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

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

dnnl::memory::data_type DnnTypeOf(DType dtype) {
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

DnnMachine& TheDnnMachine() {
  static DnnMachine& machine = *new DnnMachine;
  return machine;
}

DnnDesc DescOf(const DnnTensor& t) {
  if (t.dims.empty()) return DnnDesc();
  return DnnDesc(t.dims, DnnTypeOf(t.dtype), t.strides);
}

DnnDesc FreeDescOf(const DnnTensor& t) {
  return DnnDesc(t.dims, DnnTypeOf(t.dtype), dnnl::memory::format_tag::any);
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
  return DnnDesc(t.dims, DnnTypeOf(t.dtype), strides);
}

namespace {

// The operand's description. An operand with the result's sizes must have the result's layout, or
// only primitives over im2col support it.
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

// --- Ops ----------------------------------------------------------------------------

void DnnOp::Impl::AddOperand(int slot, int arg, const DnnPath& path) {
  Operand operand;
  operand.slot = slot;
  operand.arg = arg;
  operand.user = dnnl::memory(path.stops[0], TheDnnMachine().engine, nullptr);
  operand.moves = MovesOf(path);
  for (const DnnMove& move : operand.moves) {
    operand.offsets.push_back(scratch_bytes);
    scratch_bytes += AlignUp(static_cast<int64_t>(move.to.get_desc().get_size()), kCacheLine);
    ++reorders;
  }
  operands.push_back(std::move(operand));
}

void DnnOp::Impl::AddResult(const DnnDesc& user, const DnnDesc& inner) {
  Operand operand;
  operand.slot = kDnnResult;
  operand.arg = DNNL_ARG_DST;
  operand.result = true;
  operand.user = dnnl::memory(user, TheDnnMachine().engine, nullptr);
  if (user != inner) {
    DnnPath path;
    path.stops = {inner, user};
    operand.moves = MovesOf(path);
    operand.offsets = {scratch_bytes};
    scratch_bytes += AlignUp(static_cast<int64_t>(inner.get_size()), kCacheLine);
    ++reorders;
  }
  operands.push_back(std::move(operand));
}

void DnnOp::Impl::AddWeights(const DnnPath& path, const DnnConstant& constant) {
  const bool as_it_lies = path.stops.size() == 1 && constant.data != nullptr;
  if (!constant.known() || as_it_lies) {
    return AddOperand(kDnnWeights, DNNL_ARG_WEIGHTS, path);
  }
  Operand operand;
  operand.slot = kDnnWeights;
  operand.arg = DNNL_ARG_WEIGHTS;
  operand.user = Pack(constant, path);
  operand.fixed = true;
  operands.push_back(std::move(operand));
}

void DnnOp::Impl::AddPostOps(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y) {
  int slot = kDnnFirstPostOp;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].function == DnnFunction::kAccumulate) Accumulate();
    if (post_ops[i].function < DnnFunction::kAdd) continue;
    AddOperand(slot++, DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
               PathOf(post_ops[i].operand, OperandDesc(post_ops[i], y)));
  }
}

void DnnOp::Impl::Accumulate() {
  for (Operand& operand : operands) {
    if (!operand.result || operand.moves.empty()) continue;
    DnnPath path;
    path.stops = {operand.user.get_desc(), operand.inner().get_desc()};
    operand.loads = MovesOf(path);
    ++reorders;
  }
}

void DnnOp::Impl::Finish(const dnnl::primitive_desc_base& pd, dnnl::primitive made) {
  primitive = std::move(made);
  const DnnDesc desc = pd.scratchpad_desc();
  scratchpad = dnnl::memory(desc, TheDnnMachine().engine, nullptr);
  scratchpad_at = scratch_bytes;
  scratch_bytes += AlignUp(static_cast<int64_t>(desc.get_size()), kCacheLine);
  for (const Operand& operand : operands) {
    args.push_back({operand.arg, operand.inner().get()});
  }
  args.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  implementation = pd.impl_info_str();
}

void ExecuteDnn(const dnnl::primitive& primitive, absl::Span<const dnnl_exec_arg_t> args) {
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), TheDnnMachine().stream.get(),
                                                 static_cast<int>(args.size()), args.data()),
                          "a primitive failed");
}

void DnnOp::Impl::Run(absl::Span<void* const> slots, char* scratch) {
  for (Operand& operand : operands) {
    if (operand.fixed) continue;
    operand.user.set_data_handle(slots[operand.slot]);
    if (operand.moves.empty()) continue;
    if (operand.result) {
      operand.moves[0].from.set_data_handle(scratch + operand.offsets[0]);
      operand.moves[0].to.set_data_handle(slots[operand.slot]);
      for (DnnMove& load : operand.loads) {
        load.from.set_data_handle(slots[operand.slot]);
        load.to.set_data_handle(scratch + operand.offsets[0]);
        load.Run();
      }
      continue;
    }
    void* from = slots[operand.slot];
    for (size_t i = 0; i < operand.moves.size(); ++i) {
      DnnMove& move = operand.moves[i];
      move.from.set_data_handle(from);
      from = scratch + operand.offsets[i];
      move.to.set_data_handle(from);
      move.Run();
    }
  }
  scratchpad.set_data_handle(scratch + scratchpad_at);
  ExecuteDnn(primitive, args);
  for (const Operand& operand : operands) {
    if (!operand.result) continue;
    for (const DnnMove& move : operand.moves) move.Run();
  }
  TheDnnMachine().stream.wait();
}

bool HasDnn() { return true; }

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

DnnUnit FindBf16Unit() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_amx:
      return DnnUnit::kTiles;
    case dnnl::cpu_isa::avx512_core_bf16:
      return DnnUnit::kVectors;
    default:
      return DnnUnit::kNone;
  }
}

DnnUnit FindInt8Unit() {
  if (dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_vnni) return DnnUnit::kVectors;
  return FindBf16Unit();
}

void LimitDnn(Isa isa) {
  if (isa == Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
}

}  // namespace weft::cpu
