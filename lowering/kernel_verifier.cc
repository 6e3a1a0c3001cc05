#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lowering/check_schedule.h"
#include "lowering/kernel_body.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"

namespace weft {
namespace {

template <typename... Pieces>
absl::Status Invalid(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

class NestVerifier {
 public:
  NestVerifier(const Kernel& kernel, const Nest& nest)
      : kernel_(kernel), nest_(nest), loops_(nest.outer.size() + nest.inner.size()) {}

  absl::Status Run() {
    for (size_t s = 0; s < nest_.stages.size(); ++s) {
      absl::Status status = CheckStage(nest_.stages[s]);
      if (!status.ok()) {
        return Invalid("stage ", s, ": ", status.message());
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckStage(const Stage& stage) {
    for (size_t i = 0; i < stage.body.size(); ++i) {
      absl::Status status = CheckInstr(stage, static_cast<int>(i));
      if (!status.ok()) return Invalid("%", i, ": ", status.message());
    }
    const int values = static_cast<int>(stage.body.size());
    if (stage.per_row && (!stage.keeps.empty() || !stage.reductions.empty())) {
      return Invalid("a stage that runs once reduces or keeps nothing");
    }
    for (const Keep& k : stage.keeps) {
      if (k.value < 0 || k.value >= values || k.row < 0 ||
          k.row >= static_cast<int>(nest_.rows.size()) ||
          stage.body[k.value].dtype != nest_.rows[k.row]) {
        return Invalid("row ", k.row, " does not hold %", k.value);
      }
    }
    for (const Keep& k : stage.keeps) kept_.push_back(k.row);
    for (const Reduction& r : stage.reductions) {
      if (r.value < 0 || r.value >= values || stage.body[r.value].dtype != r.dtype) {
        return Invalid("%", r.value, " is not what is reduced");
      }
      const bool arg = r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
      reduced_.push_back(arg ? DType::kI64 : r.dtype);
    }
    for (const Store& s : stage.stores) {
      if (s.value < 0 || s.value >= values) return Invalid("nothing is stored");
      WEFT_RETURN_IF_ERROR(CheckAccess(stage, values, s.access, true));
      const DType dtype = kernel_.args[s.access.arg].dtype;
      if (KernelDType(dtype) != stage.body[s.value].dtype) {
        return Invalid("%", s.value, " has not the dtype of %a", s.access.arg);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckAccess(const Stage& stage, int values, const Access& a, bool store) const {
    if (a.arg < 0 || a.arg >= static_cast<int>(kernel_.args.size())) {
      return Invalid("there is no argument ", a.arg);
    }
    if (kernel_.args[a.arg].written != store) {
      return Invalid("%a", a.arg, store ? " is read" : " is written", " alone");
    }
    if (a.strides.size() != loops_) {
      return Invalid(a.strides.size(), " strides for ", loops_, " loops");
    }
    for (const IndexTerm& t : a.terms) {
      if (t.value < 0 || t.value >= values || !IsInt(stage.body[t.value].dtype)) {
        return Invalid("%", t.value, " is no index");
      }
    }
    for (const Access::Guard& g : a.guards) {
      if (g.strides.size() != loops_) return Invalid("a guard lacks strides");
    }
    if (store && (!a.terms.empty() || !a.guards.empty())) {
      return Invalid("stores have neither terms nor guards");
    }
    if (a.guards.empty()) return absl::OkStatus();
    if (a.otherwise < 0 || a.otherwise >= values) {
      return Invalid("a guarded load lacks a value");
    }
    return absl::OkStatus();
  }

  absl::Status CheckInstr(const Stage& stage, int number) const {
    const Instr& i = stage.body[number];
    if (!IsKernelDType(i.dtype) || KernelDType(i.dtype) != i.dtype) {
      return Invalid("nothing is computed in ", DTypeName(i.dtype));
    }
    const int operands = NumOperands(i.op);
    std::vector<DType> t;
    for (int k = 0; k < operands; ++k) {
      if (i.operands[k] < 0 || i.operands[k] >= number) {
        return Invalid("operand ", k, " is not there yet");
      }
      t.push_back(stage.body[i.operands[k]].dtype);
    }
    switch (i.op) {
      case ScalarOp::kIndex:
        return i.loop >= 0 && i.loop < static_cast<int>(loops_)
                   ? absl::OkStatus()
                   : Invalid("there is no loop ", i.loop);
      case ScalarOp::kRow:
        for (int row : kept_) {
          if (row == i.loop && nest_.rows[row] == i.dtype) {
            return absl::OkStatus();
          }
        }
        return Invalid("row ", i.loop, " is not there yet");
      case ScalarOp::kReduced:
        return i.loop >= 0 && i.loop < static_cast<int>(reduced_.size()) &&
                       reduced_[i.loop] == i.dtype
                   ? absl::OkStatus()
                   : Invalid("reduction ", i.loop, " is not there yet");
      case ScalarOp::kLoad:
        WEFT_RETURN_IF_ERROR(CheckAccess(stage, number, i.access, false));
        return KernelDType(kernel_.args[i.access.arg].dtype) == i.dtype
                   ? absl::OkStatus()
                   : Invalid("the argument has another dtype");
      default:
        return CheckDTypes(i, t);
    }
  }

  static absl::Status CheckDTypes(const Instr& i, const std::vector<DType>& t) {
    const bool compares = i.op >= ScalarOp::kEq && i.op <= ScalarOp::kGe;
    if (compares || i.op == ScalarOp::kIsNan || i.op == ScalarOp::kIsInf) {
      if (i.dtype != DType::kBool || (compares && t[0] != t[1])) {
        return Invalid("a comparison is bool, of equal dtypes");
      }
      return absl::OkStatus();
    }
    if (i.op == ScalarOp::kConvert || i.op == ScalarOp::kBitcast) {
      return absl::OkStatus();
    }
    for (size_t k = 0; k < t.size(); ++k) {
      const bool condition = i.op == ScalarOp::kSelect && k == 0;
      if (t[k] != (condition ? DType::kBool : i.dtype)) {
        return Invalid("operand ", k, " is ", DTypeName(t[k]));
      }
    }
    return absl::OkStatus();
  }

  const Kernel& kernel_;
  const Nest& nest_;
  const size_t loops_;
  std::vector<int> kept_;
  std::vector<DType> reduced_;
};

}  // namespace

absl::Status VerifyKernel(const Kernel& kernel) {
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    absl::Status status = NestVerifier(kernel, kernel.nests[n]).Run();
    if (!status.ok()) {
      return Invalid("kernel @", kernel.name, ", nest ", n, ", ", status.message());
    }
  }
  return kernel.schedule.decided() ? CheckSchedule(kernel) : absl::OkStatus();
}

}  // namespace weft
