// A finished step's kernel as a FoundFinish.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/found_finish.h"

namespace weft::cpu {
namespace {

using SizeFn = absl::FunctionRef<std::optional<int64_t>(SymInt)>;

// The elements that a load reads: which argument, and the strides by dim.
struct Place {
  int arg = -1;
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

// Follows the one value that is computed from the sum, from instruction to instruction. Each step
// of the form has its place in this order, and steps may be left out.
class FinishReader {
 public:
  FinishReader(const FinishRequest& request, SizeFn value_of)
      : request_(request),
        body_(request.kernel.nests[0].stages[0].body),
        value_of_(value_of),
        follows_(body_.size(), false) {}

  std::optional<FoundFinish> Run() {
    found_.scale.value = 1;
    for (int i = 0; i < static_cast<int>(body_.size()); ++i) {
      const Instr& instr = body_[i];
      const bool unfinished = instr.op == ScalarOp::kLoad && instr.access.arg == 0;
      for (const int operand : instr.operands) {
        follows_[i] = follows_[i] || (operand >= 0 && follows_[operand]);
      }
      if (unfinished) {
        if (last_ >= 0 || instr.dtype != DType::kI32) return std::nullopt;
        follows_[i] = true;
        last_ = i;
      } else if (follows_[i] && !Take(i)) {
        return std::nullopt;
      }
    }
    EndWidening();
    const Store& store = request_.kernel.nests[0].stages[0].stores[0];
    if (store.value != last_ || !HasResultStrides(store.access) ||
        value_of_(store.access.offset) != 0) {
      return std::nullopt;
    }
    const DType result = request_.result.dtype;
    const bool real = result == DType::kF32 && at_ >= kConverted && at_ <= kSecondClamp;
    if (!real && at_ != kNarrowed) return std::nullopt;
    found_.finish.result = KindOf(result);
    return found_;
  }

 private:
  enum Step {
    kSum,
    kSumBias,
    kConverted,
    kScaled,
    kBias,
    kFirstClamp,
    kWidened,  // A middle is narrowed, and wide again.
    kLateBias,
    kAddend,
    kSecondClamp,
    // These may come twice.
    kDivided,
    kRounded,
    kZeroPoint,
    kRange,
    kNarrowed,
    // From the middle's 8 bits to floats.
    kI32,
    kCentered,
    kFloat,
  };

  static IntegerResult KindOf(DType dtype) {
    return dtype == DType::kU8   ? IntegerResult::kU8
           : dtype == DType::kI8 ? IntegerResult::kI8
                                 : IntegerResult::kF32;
  }

  bool Take(int i) {
    const Instr& instr = body_[i];
    if (instr.op != ScalarOp::kMul) EndWidening();
    if (instr.op == ScalarOp::kLt) return TakeComparison(i);
    if (instr.op == ScalarOp::kSelect) return TakeRelu(i);
    const int other = OtherOf(instr);
    if (compared_ >= 0 || other == kNotLast) return false;
    const bool real = instr.dtype == DType::kF32;
    bool taken = false;
    switch (instr.op) {
      case ScalarOp::kConvert:
        taken = TakeConvert(instr);
        break;
      case ScalarOp::kMul:
        taken = real && TakeMul(other);
        break;
      case ScalarOp::kSub:
        taken = instr.operands[0] == last_ && instr.dtype == DType::kI32 && TakeCenter(other);
        break;
      case ScalarOp::kAdd:
        taken = real ? TakeAdd(other) : TakeSumBias(instr, other);
        break;
      case ScalarOp::kMaximum:
        taken = real && TakeClamp(other, /*least=*/true);
        break;
      case ScalarOp::kMinimum:
        taken = real && TakeClamp(other, /*least=*/false);
        break;
      case ScalarOp::kDiv:
        taken = real && instr.operands[0] == last_ && at_ >= kConverted && at_ < kDivided &&
                Reach(kDivided) && ReadOne(other, &found_.narrow.step);
        break;
      case ScalarOp::kRoundEven:
        // A step of 1 divides nothing.
        taken = real && at_ >= kConverted && at_ <= kDivided && Reach(kRounded);
        break;
      default:
        break;
    }
    last_ = i;
    return taken;
  }

  static constexpr int kNotLast = -2;
  // The operand that does not follow from the sum, -1 if there is none.
  int OtherOf(const Instr& instr) const {
    int other = -1;
    int mine = 0;
    for (const int operand : instr.operands) {
      if (operand < 0) continue;
      if (operand == last_) {
        ++mine;
      } else if (follows_[operand] || other >= 0) {
        return kNotLast;
      } else {
        other = operand;
      }
    }
    return mine == 1 ? other : kNotLast;
  }

  bool Reach(Step step) {
    at_ = step;
    return true;
  }

  bool TakeMul(int other) {
    if (at_ == kConverted) return Reach(kScaled) && Read(other, &found_.scale);
    const std::optional<double> scale = Number(other);
    if (at_ != kFloat || !scale) return false;
    Middle().wide_scale = static_cast<float>(*scale);
    return Reach(kWidened);
  }

  // The floats of a middle that are not scaled.
  void EndWidening() {
    if (at_ == kFloat) at_ = kWidened;
  }

  // The last one.
  IntegerFinish::Middle& Middle() { return found_.finish.middle[found_.finish.middles - 1]; }

  // The zero point that is subtracted from the middle's 8 bits.
  bool TakeCenter(int other) {
    const std::optional<double> zero_point = Number(other);
    if (at_ != kI32 || !zero_point || *zero_point < -128 || *zero_point > 255) return false;
    Middle().wide_zero_point = static_cast<float>(*zero_point);
    return Reach(kCentered);
  }

  // A narrowed value is widened again: it was a middle.
  bool TakeWiden(const Instr& instr) {
    IntegerFinish& finish = found_.finish;
    if (at_ == kNarrowed) {
      // The second clamp belongs to the result.
      if (finish.middles == kMaxMiddles || found_.addend >= 0 || !finish.second.is_open()) {
        return false;
      }
      found_.middle[finish.middles++] = std::exchange(found_.narrow, {});
      Middle().narrow = std::exchange(finish.narrow, {});
    }
    if (instr.dtype == DType::kI32) return at_ == kNarrowed && Reach(kI32);
    return instr.dtype == DType::kF32 && Reach(kFloat);
  }

  bool TakeConvert(const Instr& instr) {
    if (at_ >= kNarrowed) return TakeWiden(instr);
    if (at_ <= kSumBias) return instr.dtype == DType::kF32 && Reach(kConverted);
    const bool unsigned_bytes = instr.dtype == DType::kU8;
    if (at_ != kRange || (!unsigned_bytes && instr.dtype != DType::kI8)) return false;
    const IntegerFinish::Clamp& range = found_.finish.narrow.range;
    return range.least >= (unsigned_bytes ? 0 : -128) &&
           range.most <= (unsigned_bytes ? 255 : 127) && Reach(kNarrowed);
  }

  bool TakeSumBias(const Instr& instr, int other) {
    return instr.dtype == DType::kI32 && at_ == kSum && Reach(kSumBias) &&
           Read(other, &found_.sum_bias) && found_.sum_bias.dtype == DType::kI32;
  }

  bool TakeAdd(int other) {
    if (at_ == kRounded) {
      return Reach(kZeroPoint) && ReadOne(other, &found_.narrow.zero_point);
    }
    if (at_ == kScaled && Read(other, &found_.bias)) return Reach(kBias);
    if (at_ == kWidened && Read(other, &found_.late_bias[found_.finish.middles - 1])) {
      return Reach(kLateBias);
    }
    return at_ >= kConverted && at_ < kAddend && Reach(kAddend) && TakeAddend(other);
  }

  // Two clamps one after the other are one if the bounds do not cross.
  bool TakeClamp(int other, bool least) {
    const std::optional<double> bound = Number(other);
    if (!bound || *bound != *bound) return false;
    const bool rounded = at_ >= kRounded;
    if (at_ >= kNarrowed) return false;
    if (rounded) {
      at_ = kRange;
    } else if (at_ < kWidened) {
      at_ = kFirstClamp;
    } else if (at_ <= kSecondClamp) {
      at_ = kSecondClamp;
    } else {
      return false;
    }
    IntegerFinish& finish = found_.finish;
    IntegerFinish::Clamp& clamp = rounded              ? finish.narrow.range
                                  : at_ == kFirstClamp ? finish.first
                                                       : finish.second;
    const float value = static_cast<float>(*bound);
    if (least) {
      clamp.least = std::max(clamp.least, value);
    } else {
      clamp.most = std::min(clamp.most, value);
    }
    return clamp.least <= clamp.most;
  }

  // relu: v < 0 ? 0 : v
  bool TakeComparison(int i) {
    const Instr& instr = body_[i];
    if (compared_ >= 0 || instr.operands[0] != last_ || Number(instr.operands[1]) != 0.0) {
      return false;
    }
    compared_ = i;
    return body_[last_].dtype == DType::kF32;
  }
  bool TakeRelu(int i) {
    const Instr& instr = body_[i];
    if (compared_ < 0 || instr.operands[0] != compared_ || instr.operands[2] != last_) return false;
    compared_ = -1;
    last_ = i;
    return at_ >= kConverted && at_ < kDivided && TakeClamp(instr.operands[1], /*least=*/true) &&
           Number(instr.operands[1]) == 0.0;
  }

  // A number, or elements that a load gives, perhaps converted to f32.
  bool Read(int i, FinishOperand* to) const {
    if (i < 0) return false;
    if (const std::optional<double> number = Number(i)) {
      to->value = static_cast<float>(*number);
      return body_[i].dtype == DType::kF32;
    }
    const bool converted = body_[i].op == ScalarOp::kConvert && body_[i].dtype == DType::kF32;
    const Instr& load = body_[converted ? body_[i].operands[0] : i];
    const std::optional<Place> place = PlaceOf(load);
    if (!place) return false;
    for (int d = 0; d < request_.result.rank(); ++d) {
      if (request_.result.dims[d] == 1 || place->strides[d] == 0) continue;
      if (d != request_.channel) return false;
      to->stride = place->strides[d];
    }
    to->arg = place->arg;
    to->offset = place->offset;
    to->dtype = request_.args[place->arg].dtype;
    const bool known = to->dtype == DType::kF32 || to->dtype == DType::kI32 ||
                       to->dtype == DType::kU8 || to->dtype == DType::kI8;
    return known && (converted || load.dtype == to->dtype);
  }

  // The same of one element for all columns.
  bool ReadOne(int i, FinishOperand* to) const { return Read(i, to) && to->stride == 0; }

  // Floats, or (bytes - zero point) * scale.
  bool TakeAddend(int i) {
    if (i < 0) return false;
    if (body_[i].op == ScalarOp::kLoad) return PlaceAddend(body_[i], DType::kF32, DType::kF32);
    if (body_[i].op != ScalarOp::kMul) return false;
    int factor = body_[i].operands[1];
    int centered = body_[i].operands[0];
    if (Number(centered)) std::swap(factor, centered);
    const std::optional<double> scale = Number(factor);
    if (!scale || body_[centered].op != ScalarOp::kConvert) return false;
    found_.finish.addend_scale = static_cast<float>(*scale);
    int bytes = body_[centered].operands[0];
    if (body_[bytes].op == ScalarOp::kSub && body_[bytes].dtype == DType::kI32) {
      const std::optional<double> zero_point = Number(body_[bytes].operands[1]);
      if (!zero_point || *zero_point < -128 || *zero_point > 255) return false;
      found_.finish.addend_zero_point = static_cast<float>(*zero_point);
      bytes = body_[bytes].operands[0];
    }
    if (body_[bytes].op == ScalarOp::kConvert && body_[bytes].dtype == DType::kI32) {
      bytes = body_[bytes].operands[0];
    }
    return PlaceAddend(body_[bytes], DType::kU8, DType::kI8);
  }

  bool PlaceAddend(const Instr& load, DType one, DType two) {
    const std::optional<Place> place = PlaceOf(load);
    if (!place || !HasResultStrides(load.access)) return false;
    const DType dtype = request_.args[place->arg].dtype;
    if ((dtype != one && dtype != two) || load.dtype != dtype) return false;
    found_.addend = place->arg;
    found_.addend_offset = place->offset;
    found_.finish.addend_kind = KindOf(dtype);
    return true;
  }

  std::optional<Place> PlaceOf(const Instr& load) const {
    if (load.op != ScalarOp::kLoad || load.access.arg == 0 || !load.access.guards.empty()) {
      return std::nullopt;
    }
    Place place;
    place.arg = request_.own_args + load.access.arg - 1;
    const std::optional<int64_t> offset = value_of_(load.access.offset);
    if (!offset) return std::nullopt;
    place.offset = *offset;
    for (const SymInt s : load.access.strides) {
      const std::optional<int64_t> stride = value_of_(s);
      if (!stride) return std::nullopt;
      place.strides.push_back(*stride);
    }
    return place;
  }

  bool HasResultStrides(const Access& access) const {
    for (int d = 0; d < request_.result.rank(); ++d) {
      if (request_.result.dims[d] == 1) continue;
      if (value_of_(access.strides[d]) != request_.result.strides[d]) return false;
    }
    return true;
  }

  // Constants, also converted ones.
  std::optional<double> Number(int i) const {
    if (i < 0) return std::nullopt;
    const Instr& instr = body_[i];
    if (instr.op == ScalarOp::kConst) {
      if (!IsFloat(instr.dtype)) return static_cast<double>(instr.int_imm);
      return instr.dtype == DType::kF32 ? static_cast<float>(instr.imm) : instr.imm;
    }
    if (instr.op != ScalarOp::kConvert) return std::nullopt;
    const std::optional<double> from = Number(instr.operands[0]);
    const bool small = from && *from >= -128 && *from <= 255 && *from == static_cast<int>(*from);
    const bool wide = instr.dtype == DType::kF32 || instr.dtype == DType::kI32;
    return small && wide ? from : std::nullopt;
  }

  const FinishRequest& request_;
  const std::vector<Instr>& body_;
  SizeFn value_of_;
  std::vector<bool> follows_;
  FoundFinish found_;
  Step at_ = kSum;
  int last_ = -1;
  int compared_ = -1;  // The comparison of a relu that has begun.
};

}  // namespace

std::optional<FoundFinish> FindFinish(const FinishRequest& request, SizeFn value_of) {
  return FinishReader(request, value_of).Run();
}

}  // namespace weft::cpu
