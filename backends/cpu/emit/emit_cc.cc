// Emits kernels as functions. Each nest becomes a function, which kernels with equal nests share:
// layers of one model differ in their arguments and in where these begin, which are parameters.
#include "backends/cpu/emit/emit_cc.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/emit/internal.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"
#include "lowering/check_schedule.h"

namespace weft::cpu {
namespace cc {
namespace {

// A nest with its arguments renumbered in the order in which it uses them.
struct LocalNest {
  Kernel kernel;  // Its arguments; without nests.
  Nest nest;
  std::vector<int> args;       // Arguments of the whole kernel.
  std::vector<SymInt> begins;  // Offsets that are added to them.
};

class Localizer {
 public:
  explicit Localizer(const Kernel& kernel) : kernel_(kernel) {}

  LocalNest Run(const Nest& nest) {
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
      local_.args.push_back(access->arg);
      // The argument begins at the first access; with terms or guards that may lie outside.
      const bool plain = access->terms.empty() && access->guards.empty();
      local_.begins.push_back(plain ? access->offset : SymInt(0));
      local_.kernel.args.push_back(kernel_.args[access->arg]);
    }
    access->arg = it->second;
    access->offset = access->offset - local_.begins[it->second];
  }

  const Kernel& kernel_;
  LocalNest local_;
  absl::flat_hash_map<int, int> number_;
};

// Points of a nest with those of its inner loops; 0 if they are not constant.
int64_t ElementsOf(const Nest& nest) {
  const SymInt elements = Product(nest.outer) * Product(nest.inner);
  constexpr int64_t kMost = int64_t{1} << 40;  // Sums of these fit in 64 bits.
  return elements.is_constant() ? std::min(elements.value(), kMost) : 0;
}

// The largest number of elements for which all nests of no more together have a small share of the
// kernels' elements. Optimising them is not worth the compiler's time, of which they may take half;
// a nest that is not optimised takes up to a tenth longer.
int64_t FewElements(absl::Span<const Kernel* const> kernels) {
  constexpr int64_t kShare = 32;
  std::vector<int64_t> sizes;
  for (const Kernel* kernel : kernels) {
    for (const Nest& nest : kernel->nests) sizes.push_back(ElementsOf(nest));
  }
  std::sort(sizes.begin(), sizes.end());
  int64_t rest = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) / kShare;
  size_t first = 0;  // That is too large.
  while (first < sizes.size() && sizes[first] <= rest) rest -= sizes[first++];
  // Nests as large as one that is too large are so, too.
  while (first > 0 && first < sizes.size() && sizes[first - 1] == sizes[first]) --first;
  return first == 0 ? 0 : sizes[first - 1];
}

// The functions of nests, by their text.
class NestFunctions {
 public:
  // Nests of at most `few` elements are optimised for size.
  NestFunctions(int lanes, absl::string_view prefix, int64_t few)
      : lanes_(lanes), prefix_(prefix), few_(few) {}

  // Appends statements that run the nest's part of the points [begin, end), which starts at
  // `start`.
  absl::Status Call(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
                    SymInt start, SizeTable* sizes, std::string* out, NestCode* code) {
    const LocalNest local = Localizer(kernel).Run(nest);
    SizeTable own;
    WEFT_RETURN_IF_ERROR(
        EmitNest(local.kernel, local.nest, schedule, lanes_, &own, &functions_, code));
    const std::vector<SymInt> values = own.Take();
    const int64_t elements = ElementsOf(nest);
    const bool few = elements > 0 && elements <= few_;
    const std::string name = Intern(few, Function(local, values.size(), code->text));
    std::vector<std::string> args;
    for (size_t a = 0; a < local.args.size(); ++a) {
      const SymInt begin = local.begins[a];
      // Uses no local variables: hundreds of them, alive through hundreds of calls, slow down the
      // compiler.
      std::string arg =
          absl::StrCat("(", Pointer(local.kernel.args[a]), ")args[", local.args[a], "]");
      if (!begin.Is(0)) absl::StrAppend(&arg, " + ", sizes->Text(begin));
      args.push_back(std::move(arg));
    }
    for (SymInt value : values) args.push_back(sizes->Text(value));
    absl::StrAppend(out, "{\nconst long base = ", sizes->Text(start),
                    ", limit = ", sizes->Text(start + code->points),
                    ";\nif (begin < limit && end > base) bad |= ", name, "(",
                    absl::StrJoin(args, ", "), args.empty() ? "" : ", ",
                    "scratch, (begin > base ? begin : base) - base, "
                    "(end < limit ? end : limit) - base);\n}\n");
    return absl::OkStatus();
  }

  const std::string& text() const { return text_; }
  const std::set<ScalarOp>& functions() const { return functions_; }

 private:
  static std::string Pointer(const KernelArg& arg) {
    return absl::StrCat(arg.written ? "" : "const ", MemoryType(arg.dtype), "*");
  }

  static std::string Function(const LocalNest& local, size_t sizes, const std::string& text) {
    std::vector<std::string> parameters;
    for (size_t a = 0; a < local.kernel.args.size(); ++a) {
      const KernelArg& arg = local.kernel.args[a];
      parameters.push_back(absl::StrCat(Pointer(arg), " const a", a));
    }
    for (size_t z = 0; z < sizes; ++z) parameters.push_back(absl::StrCat("const long z", z));
    return absl::StrCat("(", absl::StrJoin(parameters, ", "), parameters.empty() ? "" : ", ",
                        "void* scratch, const long from, const long to) {\nint bad = 0;\n", text,
                        "return bad;\n}\n");
  }

  std::string Intern(bool few, absl::string_view function) {
    const char* const head = few ? "static __attribute__((noinline, cold)) int "
                                 : "static __attribute__((noinline)) int ";
    const auto [it, inserted] = names_.try_emplace(absl::StrCat(head, function), "");
    if (!inserted) return it->second;
    it->second = absl::StrCat(prefix_, "_nest", names_.size() - 1);
    absl::StrAppend(&text_, head, it->second, function);
    return it->second;
  }

  const int lanes_;
  const std::string prefix_;
  const int64_t few_;
  std::string text_;
  std::set<ScalarOp> functions_;
  absl::flat_hash_map<std::string, std::string> names_;
};

absl::Status EmitKernel(const Kernel& kernel, NestFunctions* nests, std::string* out,
                        CcKernel* result) {
  SizeTable sizes;
  std::string body;
  SymInt start = 0;
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    const Nest& nest = kernel.nests[n];
    NestCode code;
    WEFT_RETURN_IF_ERROR(
        nests->Call(kernel, nest, kernel.schedule.nests[n], start, &sizes, &body, &code));
    start = start + code.points;
    result->scratch_bytes = Max(result->scratch_bytes, code.scratch_bytes);
    SymInt work = 0;
    for (const Stage& stage : nest.stages) {
      const SymInt instrs = static_cast<int64_t>(stage.body.size()) + 1;
      work = work + (stage.per_row ? instrs : instrs * Product(nest.inner));
    }
    result->work_per_point = Max(result->work_per_point, work);
  }
  // The function only contains calls; hundreds of them are not worth optimising.
  absl::StrAppend(out, "extern \"C\" __attribute__((optimize(\"O1\"))) int ", result->symbol,
                  "(void* const* args, const long* z, void* scratch, "
                  "long begin, long end) {\nint bad = 0;\n");
  result->points = start;
  result->sizes = sizes.Take();
  for (size_t i = 0; i < result->sizes.size(); ++i) {
    absl::StrAppend(out, "const long z", i, " = z[", i, "];\n");
  }
  absl::StrAppend(out, body, "return bad;\n}\n");
  return absl::OkStatus();
}

absl::Status CheckKernel(const Kernel& kernel, int lanes) {
  for (const KernelArg& arg : kernel.args) {
    if (DTypeBits(arg.dtype) < 8 || IsComplex(arg.dtype) ||
        (IsFloat(arg.dtype) && DTypeBits(arg.dtype) == 8)) {
      return absl::UnimplementedError(
          absl::StrCat("kernel ", kernel.name, ": elements of ", DTypeName(arg.dtype)));
    }
  }
  WEFT_RETURN_IF_ERROR(CheckSchedule(kernel));
  if (kernel.schedule.lanes != lanes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel ", kernel.name, " has ", kernel.schedule.lanes, " lanes, others ", lanes));
  }
  return absl::OkStatus();
}

}  // namespace

}  // namespace cc

std::vector<std::string> CcFlags(const CcTarget& target) {
  std::vector<std::string> flags = {"-O3",
                                    "-std=c++17",
                                    "-w",
                                    "-fwrapv",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-ffp-contract=off"};
  switch (target.isa) {
    case CcTarget::Isa::kAvx512:
      flags.insert(flags.end(), {"-march=x86-64-v4", "-mprefer-vector-width=512"});
      break;
    case CcTarget::Isa::kAvx2:
      flags.push_back("-march=x86-64-v3");
      break;
    case CcTarget::Isa::kGeneric:
      break;
  }
  return flags;
}

absl::StatusOr<CcUnit> EmitCc(absl::Span<const Kernel* const> kernels, const CcTarget& target,
                              absl::string_view prefix) {
  CcUnit unit;
  const int lanes = kernels.empty() ? 1 : kernels[0]->schedule.lanes;
  cc::NestFunctions nests(lanes, prefix, cc::FewElements(kernels));
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i) {
    CcKernel kernel;
    kernel.symbol = absl::StrCat(prefix, i);
    WEFT_RETURN_IF_ERROR(cc::CheckKernel(*kernels[i], lanes));
    absl::StrAppend(&text, "\n// ", kernels[i]->name, "\n");
    WEFT_RETURN_IF_ERROR(cc::EmitKernel(*kernels[i], &nests, &text, &kernel));
    unit.kernels.push_back(std::move(kernel));
  }
  unit.text = cc::Prelude(target, lanes, nests.functions());
  unit.prelude_bytes = unit.text.size();
  absl::StrAppend(&unit.text, nests.text(), text);
  return unit;
}

absl::StatusOr<CcUnit> EmitCcOfMost(std::vector<const Kernel*>* kernels, const CcTarget& target,
                                    absl::string_view prefix) {
  absl::StatusOr<CcUnit> unit = EmitCc(*kernels, target, prefix);
  if (unit.ok()) return unit;
  kernels->erase(std::remove_if(kernels->begin(), kernels->end(),
                                [&](const Kernel* k) { return !EmitCc({k}, target).ok(); }),
                 kernels->end());
  return EmitCc(*kernels, target, prefix);
}

}  // namespace weft::cpu
