// Emits kernels as functions, one for each nest; equal nests of a batch share a function.
#include "backends/cuda/emit/emit_cuda.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cuda/emit/internal.h"
#include "backends/cuda/emit/prelude.h"
#include "base/status_macros.h"
#include "lowering/check_schedule.h"

namespace weft::cuda {
namespace {

// A nest with its arguments renumbered in the order in which it uses them, each beginning at its
// first plain access: nests that differ in their arguments alone become equal.
struct LocalNest {
  Kernel kernel;  // Its arguments; without nests.
  Nest nest;
};

class Localizer {
 public:
  Localizer(const Kernel& kernel, CudaNest* result) : kernel_(kernel), result_(*result) {}

  LocalNest Run(const Nest& nest) {
    local_.kernel.name = kernel_.name;
    local_.nest = nest;
    for (Stage& stage : local_.nest.stages) {
      for (Instr& instr : stage.body) {
        if (instr.op == ScalarOp::kLoad) Rewrite(&instr.access);
      }
      for (Store& store : stage.stores) Rewrite(&store.access);
    }
    return std::move(local_);
  }

 private:
  void Rewrite(Access* access) {
    const auto [it, inserted] = number_.try_emplace(access->arg, static_cast<int>(number_.size()));
    if (inserted) {
      // With terms or guards, the first access may lie outside of the argument.
      const bool plain = access->terms.empty() && access->guards.empty();
      result_.args.push_back(access->arg);
      result_.begins.push_back(plain ? access->offset : SymInt(0));
      local_.kernel.args.push_back(kernel_.args[access->arg]);
    }
    access->arg = it->second;
    access->offset = access->offset - result_.begins[it->second];
  }

  const Kernel& kernel_;
  CudaNest& result_;
  LocalNest local_;
  absl::flat_hash_map<int, int> number_;
};

std::string Parameters(const LocalNest& local, const CudaNest& nest) {
  std::vector<std::string> parameters;
  for (size_t a = 0; a < local.kernel.args.size(); ++a) {
    const KernelArg& arg = local.kernel.args[a];
    parameters.push_back(
        absl::StrCat(arg.written ? "W_OUT(" : "W_IN(", MemoryType(arg.dtype), ") a", a));
  }
  for (size_t z = 0; z < nest.sizes.size(); ++z) {
    parameters.push_back(absl::StrCat("const i64 z", z));
  }
  parameters.push_back("const i64 points");
  if (nest.rows > 0) parameters.push_back("W_OUT(char) kept, const i64 kept_shared");
  if (nest.checks) parameters.push_back("W_OUT(i32) bad");
  return absl::StrJoin(parameters, ", ");
}

absl::Status CheckKernel(const Kernel& kernel) {
  for (const KernelArg& arg : kernel.args) {
    if (DTypeBits(arg.dtype) < 8 || IsComplex(arg.dtype) ||
        (IsFloat(arg.dtype) && DTypeBits(arg.dtype) == 8)) {
      return absl::UnimplementedError(
          absl::StrCat("kernel ", kernel.name, ": elements of ", DTypeName(arg.dtype)));
    }
  }
  if (!kernel.schedule.decided()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, " has no schedule"));
  }
  return CheckSchedule(kernel);
}

}  // namespace

int64_t CountSplits(NestKind kind, int64_t points, int64_t inner) {
  if (points <= 0) return 1;
  // Blocks of a row, or threads of a point, with enough values each.
  const bool rows = kind == NestKind::kRows;
  const int64_t wanted = rows ? 256 : 65536;
  const int64_t least = rows ? 4 * kMaxThreads : 64;
  return std::clamp<int64_t>(std::min(wanted / points, inner / least), 1, 256);
}

std::string MemoryType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "m_bool";
    case DType::kF16:
      return "m_f16";
    case DType::kBF16:
      return "m_bf16";
    default:
      return std::string(DTypeName(dtype));
  }
}

DType ProductDType(DType dtype) {
  if (!IsInt(dtype)) return dtype;
  return DTypeBits(dtype) == 64 ? DType::kU64 : DType::kU32;
}

std::string SumType(DType dtype) {
  return dtype == DType::kF64 || IsInt(dtype) ? ValueType(dtype) : "f32";
}

std::string ValueType(DType dtype) {
  return dtype == DType::kBool ? "bool" : std::string(DTypeName(dtype));
}

std::string LeastText(DType dtype) {
  if (IsFloat(dtype)) return dtype == DType::kF64 ? "-w_inf64()" : "-w_inf32()";
  if (dtype == DType::kBool) return "false";
  if (IsUnsignedInt(dtype)) return "0";
  return absl::StrCat("(", DTypeName(dtype), ")((u64)1 << ", DTypeBits(dtype) - 1, ")");
}

std::string MostText(DType dtype) {
  if (IsFloat(dtype)) return dtype == DType::kF64 ? "w_inf64()" : "w_inf32()";
  if (dtype == DType::kBool) return "true";
  if (IsUnsignedInt(dtype)) return absl::StrCat("(", DTypeName(dtype), ")~(u64)0");
  return absl::StrCat("(", DTypeName(dtype), ")(((u64)1 << ", DTypeBits(dtype) - 1, ") - 1)");
}

namespace {

// Adds functions to a unit.
class UnitWriter {
 public:
  UnitWriter(absl::string_view prefix, std::string* text) : prefix_(prefix), text_(*text) {}

  // Adds the function unless there is an equal one; returns its symbol. `group`: points of a group;
  // 0: the body mentions none.
  std::string Add(const std::string& kernel, const std::string& parameters, int group,
                  const std::string& body) {
    const std::string function = absl::StrCat(
        "(", parameters, ") {\n", group > 0 ? absl::StrCat("constexpr int V = ", group, ";\n") : "",
        body, "}\n");
    const auto [it, inserted] = symbols_.try_emplace(function, "");
    if (inserted) {
      it->second = absl::StrCat(prefix_, symbols_.size() - 1);
      absl::StrAppend(&text_, "\n// ", kernel, "\nW_KERNEL(", kMaxThreads, ") ", it->second,
                      function);
    }
    return it->second;
  }

 private:
  const absl::string_view prefix_;
  std::string& text_;
  absl::flat_hash_map<std::string, std::string> symbols_;  // By the function's text.
};

absl::StatusOr<CudaNest> AddNest(const Kernel& kernel, size_t n, UnitWriter* writer) {
  CudaNest nest;
  const LocalNest local = Localizer(kernel, &nest).Run(kernel.nests[n]);
  emit::SizeTable sizes;
  NestText text;
  WEFT_RETURN_IF_ERROR(
      EmitNest(local.kernel, local.nest, kernel.schedule.nests[n], &sizes, &text, &nest));
  nest.sizes = sizes.Take();
  const std::string parameters = Parameters(local, nest);
  const int group = nest.groups.size;
  const int single = group > 1 ? 1 : 0;
  nest.symbol = writer->Add(kernel.name, parameters, single, text.whole);
  if (group > 1) nest.groups.symbol = writer->Add(kernel.name, parameters, group, text.whole);
  if (text.parts.empty()) return nest;
  const std::string split = parameters + ", W_OUT(char) parts, const i64 splits";
  nest.split.reductions = static_cast<int>(local.nest.stages[0].reductions.size());
  nest.split.parts = writer->Add(kernel.name, split, single, text.parts);
  if (group > 1) nest.split.group_parts = writer->Add(kernel.name, split, group, text.parts);
  nest.split.finish = writer->Add(kernel.name, split, 0, text.finish);
  return nest;
}

}  // namespace

absl::StatusOr<CudaUnit> EmitCuda(absl::Span<const Kernel* const> kernels,
                                  absl::string_view prefix) {
  CudaUnit unit;
  unit.text = Prelude();
  UnitWriter writer(prefix, &unit.text);
  for (const Kernel* kernel : kernels) {
    WEFT_RETURN_IF_ERROR(CheckKernel(*kernel));
    CudaKernel& made = unit.kernels.emplace_back();
    for (size_t n = 0; n < kernel->nests.size(); ++n) {
      WEFT_ASSIGN_OR_RETURN(CudaNest nest, AddNest(*kernel, n, &writer));
      made.nests.push_back(std::move(nest));
    }
  }
  return unit;
}

}  // namespace weft::cuda
