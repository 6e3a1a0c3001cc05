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

struct Parameter {
  std::string type;
  std::string name;
};

std::vector<Parameter> ParametersOf(const LocalNest& local, const CudaNest& nest) {
  std::vector<Parameter> parameters;
  for (size_t a = 0; a < local.kernel.args.size(); ++a) {
    const KernelArg& arg = local.kernel.args[a];
    parameters.push_back(
        {absl::StrCat(arg.written ? "W_OUT(" : "W_IN(", MemoryType(arg.dtype), ")"),
         absl::StrCat("a", a)});
  }
  for (size_t z = 0; z < nest.sizes.size(); ++z) {
    parameters.push_back({"const i64", absl::StrCat("z", z)});
  }
  parameters.push_back({"const i64", "points"});
  if (nest.rows > 0) {
    parameters.push_back({"W_OUT(char)", "kept"});
    parameters.push_back({"const i64", "kept_shared"});
  }
  if (nest.checks) parameters.push_back({"W_OUT(i32)", "bad"});
  return parameters;
}

// A function that is not in a unit yet.
struct FunctionText {
  std::vector<Parameter> parameters;
  int group = 0;  // Points of a group; 0: the body does not mention them.
  std::string body;
  bool keeps_rows = false;
  CudaFunction* function = nullptr;  // Gets its name and table.
};

// Equal for functions that compute the same.
std::string KeyOf(const FunctionText& text) {
  std::string key;
  for (const Parameter& p : text.parameters) absl::StrAppend(&key, p.type, " ", p.name, ", ");
  return absl::StrCat(key, text.group, "\n", text.body);
}

// Entries of the table of a function that a kernel's `nests` nests share: 0 if it has no table,
// else a power of two, or as many as fit. NVRTC copies structs of up to 128 bytes to the stack of
// each thread, so that no table is small.
int TableSize(size_t parameters, int nests) {
  if (nests < 2) return 0;
  const int entry = static_cast<int>(parameters * sizeof(int64_t) + sizeof(uint32_t));
  // Behind the entries stands one more block's number, and what aligns the whole.
  const int most = (kMaxTableBytes - static_cast<int>(sizeof(int64_t))) / entry;
  int size = 8;
  while (size < nests) size *= 2;
  return most < 2 ? 0 : std::min(size, most);
}

std::string Signature(const FunctionText& text, int table) {
  std::vector<std::string> types;
  std::vector<std::string> declared;
  for (const Parameter& p : text.parameters) {
    types.push_back(p.type);
    declared.push_back(absl::StrCat(p.type, " ", p.name));
  }
  if (table == 0) {
    return absl::StrCat("(", absl::StrJoin(declared, ", "),
                        ") {\nconst w_range range = w_grid();\n");
  }
  std::string signature = absl::StrCat("(const w_table<", table, ", ", absl::StrJoin(types, ", "),
                                       "> table) {\nconst int nest = w_nest(table);\n"
                                       "const w_range range = w_range_of(table, nest);\n");
  for (size_t p = 0; p < types.size(); ++p) {
    absl::StrAppend(&signature, declared[p], " = w_field<", p, ">(table, nest);\n");
  }
  return signature;
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

  // Adds the function unless there is an equal one.
  CudaFunction Add(const std::string& kernel, const FunctionText& text, int table) {
    const std::string function =
        absl::StrCat(Signature(text, table),
                     text.group > 0 ? absl::StrCat("constexpr int V = ", text.group, ";\n") : "",
                     text.body, "}\n");
    const auto [it, inserted] = symbols_.try_emplace(function, "");
    if (inserted) {
      it->second = absl::StrCat(prefix_, symbols_.size() - 1);
      // Without a number of blocks, ptxas spills some registers of these on sm_100.
      const char* const blocks = table > 0 && text.keeps_rows ? ", 2" : "";
      absl::StrAppend(&text_, "\n// ", kernel, "\nW_KERNEL(", kMaxThreads, blocks, ") ", it->second,
                      function);
    }
    return {it->second, table};
  }

 private:
  const absl::string_view prefix_;
  std::string& text_;
  absl::flat_hash_map<std::string, std::string> symbols_;  // By the function's text.
};

// Appends the functions of a nest to `functions`.
absl::Status EmitFunctions(const Kernel& kernel, size_t n, CudaNest* nest,
                           std::vector<FunctionText>* functions) {
  const LocalNest local = Localizer(kernel, nest).Run(kernel.nests[n]);
  emit::SizeTable sizes;
  NestText text;
  WEFT_RETURN_IF_ERROR(
      EmitNest(local.kernel, local.nest, kernel.schedule.nests[n], &sizes, &text, nest));
  nest->sizes = sizes.Take();
  std::vector<Parameter> parameters = ParametersOf(local, *nest);
  const int group = nest->groups.size;
  const int single = group > 1 ? 1 : 0;
  const auto add = [&](int points, const std::string& body, CudaFunction* function) {
    functions->push_back({parameters, points, body, nest->rows > 0, function});
  };
  add(single, text.whole, &nest->function);
  if (group > 1) add(group, text.whole, &nest->groups.function);
  if (text.parts.empty()) return absl::OkStatus();
  parameters.push_back({"W_OUT(char)", "parts"});
  parameters.push_back({"const i64", "splits"});
  nest->split.reductions = static_cast<int>(local.nest.stages[0].reductions.size());
  add(single, text.parts, &nest->split.parts);
  if (group > 1) add(group, text.parts, &nest->split.group_parts);
  add(0, text.finish, &nest->split.finish);
  return absl::OkStatus();
}

absl::Status AddKernel(const Kernel& kernel, UnitWriter* writer, CudaKernel* made) {
  std::vector<FunctionText> functions;
  made->nests.resize(kernel.nests.size());
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    WEFT_RETURN_IF_ERROR(EmitFunctions(kernel, n, &made->nests[n], &functions));
  }
  absl::flat_hash_map<std::string, int> nests;  // By key: those that share the function.
  for (const FunctionText& text : functions) ++nests[KeyOf(text)];
  for (const FunctionText& text : functions) {
    const int table = TableSize(text.parameters.size(), nests.at(KeyOf(text)));
    *text.function = writer->Add(kernel.name, text, table);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudaUnit> EmitCuda(absl::Span<const Kernel* const> kernels,
                                  absl::string_view prefix) {
  CudaUnit unit;
  unit.text = Prelude();
  UnitWriter writer(prefix, &unit.text);
  for (const Kernel* kernel : kernels) {
    WEFT_RETURN_IF_ERROR(CheckKernel(*kernel));
    WEFT_RETURN_IF_ERROR(AddKernel(*kernel, &writer, &unit.kernels.emplace_back()));
  }
  return unit;
}

}  // namespace weft::cuda
