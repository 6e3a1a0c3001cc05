#include "lowering/kernel_body.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/hash/hash.h"

namespace weft {
namespace {

uint64_t BitsOf(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}

uint64_t HashOf(const Instr& i) {
  uint64_t hash = absl::HashOf(static_cast<int>(i.op), static_cast<int>(i.dtype), i.operands[0],
                               i.operands[1], i.operands[2], BitsOf(i.imm));
  hash = absl::HashOf(hash, i.int_imm, i.size.hash(), i.loop, i.access.arg, i.access.offset.hash(),
                      static_cast<int>(i.via));
  for (SymInt s : i.access.strides) hash = absl::HashOf(hash, s.hash());
  for (const IndexTerm& t : i.access.terms) {
    hash = absl::HashOf(hash, t.value, t.stride.hash());
  }
  return hash;
}

}  // namespace

bool operator==(const IndexTerm& a, const IndexTerm& b) {
  return a.value == b.value && a.stride == b.stride && a.bound == b.bound;
}

bool operator==(const Access::Guard& a, const Access::Guard& b) {
  return a.offset == b.offset && a.strides == b.strides && a.bound == b.bound;
}

bool operator==(const Access& a, const Access& b) {
  return a.arg == b.arg && a.offset == b.offset && a.strides == b.strides && a.terms == b.terms &&
         a.guards == b.guards && a.otherwise == b.otherwise;
}

bool operator==(const Instr& a, const Instr& b) {
  return a.op == b.op && a.dtype == b.dtype && a.operands[0] == b.operands[0] &&
         a.operands[1] == b.operands[1] && a.operands[2] == b.operands[2] &&
         BitsOf(a.imm) == BitsOf(b.imm) && a.int_imm == b.int_imm && a.size == b.size &&
         a.loop == b.loop && a.via == b.via && a.access == b.access;
}

DType KernelDType(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

bool IsKernelDType(DType dtype) {
  if (IsComplex(dtype) || DTypeBits(dtype) < 8) return false;
  return !IsFloat(dtype) || DTypeBits(dtype) > 8;
}

bool IsKernelDType(const Target& target, DType dtype) {
  const std::vector<DType>& dtypes = target.kernel_dtypes;
  return IsKernelDType(dtype) &&
         (dtypes.empty() || std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end());
}

int KernelBody::Add(Instr instr) {
  std::vector<int>& same = by_hash_[HashOf(instr)];
  for (int i : same) {
    if (instrs_[i] == instr) return i;
  }
  same.push_back(size());
  instrs_.push_back(std::move(instr));
  return same.back();
}

int KernelBody::Const(DType dtype, double value) {
  if (!IsFloat(dtype)) return ConstInt(dtype, static_cast<int64_t>(value));
  Instr instr;
  instr.dtype = dtype;
  instr.imm = value;
  return Add(std::move(instr));
}

int KernelBody::ConstInt(DType dtype, int64_t value) {
  if (IsFloat(dtype)) return Const(dtype, static_cast<double>(value));
  Instr instr;
  instr.dtype = dtype;
  instr.int_imm = value;
  return Add(std::move(instr));
}

int KernelBody::Size(SymInt value) {
  if (value.is_constant()) return ConstInt(DType::kI64, value.value());
  Instr instr;
  instr.op = ScalarOp::kSize;
  instr.dtype = DType::kI64;
  instr.size = value;
  return Add(std::move(instr));
}

int KernelBody::Op(ScalarOp op, DType dtype, int a, int b, int c) {
  Instr instr;
  instr.op = op;
  instr.dtype = dtype;
  instr.operands[0] = a;
  instr.operands[1] = b;
  instr.operands[2] = c;
  return Add(std::move(instr));
}

int KernelBody::Convert(int a, DType dtype) {
  const Instr& from = instrs_[a];
  if (from.dtype == dtype) return a;
  if (from.op == ScalarOp::kConst && dtype == DType::kF32 && from.dtype == DType::kI64) {
    return Const(dtype, static_cast<float>(from.int_imm));
  }
  return Op(ScalarOp::kConvert, dtype, a);
}

int KernelBody::Round(int a, DType via) {
  if (via != DType::kF16 && via != DType::kBF16) return a;
  const Instr& from = instrs_[a];
  if (from.op == ScalarOp::kRound && from.via == via) return a;
  Instr instr;
  instr.op = ScalarOp::kRound;
  instr.dtype = DType::kF32;
  instr.operands[0] = a;
  instr.via = via;
  return Add(std::move(instr));
}

}  // namespace weft
