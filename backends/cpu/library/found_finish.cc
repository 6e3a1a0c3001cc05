#include "backends/cpu/library/found_finish.h"

#include <emmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

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

template <typename T>
double ElementAt(const void* data, int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + at * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return static_cast<double>(value);
}

// Opens a clamp on the sides where narrowing clamps all that it does, since narrowing is monotonic.
void OpenCovered(const IntegerFinish::Narrow& narrow, IntegerFinish::Clamp* clamp) {
  if (!(narrow.step > 0)) return;
  const auto narrowed = [&](float bound) {
    return std::nearbyint(bound / narrow.step) + narrow.zero_point;
  };
  const IntegerFinish::Clamp open;
  if (narrowed(clamp->least) <= narrow.range.least) clamp->least = open.least;
  if (narrowed(clamp->most) >= narrow.range.most) clamp->most = open.most;
}

// Whether the values are rounded and packed without a division (IntegerFinish::Unit).
class UnitFinder {
 public:
  // Largest magnitudes of factors and biases.
  struct Largest {
    float scale = 0;
    float bias = 0;
    float late_bias[kMaxMiddles] = {};
  };
  UnitFinder(const IntegerFinish& finish, const Largest& largest) : f_(finish), largest_(largest) {}

  IntegerFinish::Unit Run() const {
    IntegerFinish::Unit unit;
    if (!f_.all_finite || !FitsSteps() || !FitsRange()) return unit;
    unit.fits = true;
    for (int m = 0; m < f_.middles; ++m) {
      const IntegerFinish::Narrow& narrow = f_.middle[m].narrow;
      // Between the middles is no clamp.
      const IntegerFinish::Clamp clamp = m == 0 ? f_.first : IntegerFinish::Clamp();
      unit.middle[m].least = Limited(narrow, clamp.least) - narrow.zero_point;
      unit.middle[m].most = Limited(narrow, clamp.most) - narrow.zero_point;
    }
    if (!Narrows()) return unit;
    const bool has_second = f_.middles > 0 || Adds();
    const IntegerFinish::Clamp& clamp = has_second ? f_.second : f_.first;
    unit.zero_point = static_cast<int16_t>(f_.narrow.zero_point);
    unit.least = static_cast<uint8_t>(static_cast<int>(Limited(f_.narrow, clamp.least)));
    unit.most = static_cast<uint8_t>(static_cast<int>(Limited(f_.narrow, clamp.most)));
    return unit;
  }

 private:
  // Half of the range of i32, for errors of the bound.
  static constexpr double kMost = 1 << 30;

  bool Narrows() const {
    return f_.result == IntegerResult::kU8 || f_.result == IntegerResult::kI8;
  }
  bool Adds() const { return f_.addend_kind != IntegerResult::kI32; }

  static float Limited(const IntegerFinish::Narrow& narrow, float bound) {
    return std::clamp(std::nearbyint(bound) + narrow.zero_point, narrow.range.least,
                      narrow.range.most);
  }

  bool FitsSteps() const {
    if (f_.result != IntegerResult::kF32 && !Narrows()) return false;
    const bool has_narrow = Narrows() && f_.narrow.step == 1;
    if (Narrows() != has_narrow) return false;
    for (int m = 0; m < f_.middles; ++m) {
      const IntegerFinish::Middle& middle = f_.middle[m];
      if (middle.narrow.step != 1 || middle.narrow.zero_point != middle.wide_zero_point) {
        return false;
      }
    }
    // A clamp before the addend limits another number than the bytes.
    return f_.middles > 0 || (has_narrow && (!Adds() || f_.first.is_open()));
  }

  bool FitsRange() const {
    constexpr double kMostSum = 2147483648.0;
    constexpr double kMostByte = 512;  // Less its zero point.
    double most = kMostSum * largest_.scale + largest_.bias;
    for (int m = 0; m < f_.middles; ++m) {
      if (!(most <= kMost)) return false;
      most = kMostByte * std::abs(f_.middle[m].wide_scale) + largest_.late_bias[m];
    }
    if (!Narrows()) return true;
    if (f_.addend_kind == IntegerResult::kF32) return false;
    if (Adds()) most += kMostByte * std::abs(f_.addend_scale);
    return most <= kMost;
  }

  const IntegerFinish& f_;
  const Largest largest_;
};

// Infinite or NaN if an element is.
float LargestMagnitude(const float* from, int64_t n) {
  // Magnitudes are in the order of their bits.
  const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
  __m128i largest = _mm_setzero_si128();
  const auto take = [&](__m128i bits) {
    bits = _mm_and_si128(bits, magnitude);
    const __m128i more = _mm_cmpgt_epi32(bits, largest);
    largest = _mm_or_si128(_mm_and_si128(more, bits), _mm_andnot_si128(more, largest));
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) take(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  for (; i < n; ++i) take(_mm_castps_si128(_mm_set1_ps(from[i])));
  alignas(16) int32_t lanes[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), largest);
  float number;
  std::memcpy(&number, std::max_element(lanes, lanes + 4), sizeof number);
  return number;
}

void ReadColumns(const FinishOperand& from, absl::Span<void* const> args, int64_t columns,
                 float* to) {
  if (from.arg < 0) {
    std::fill_n(to, columns, from.value);
  } else if (from.dtype == DType::kF32 && from.stride == 1) {
    std::memcpy(to, static_cast<const float*>(args[from.arg]) + from.offset, columns * 4);
  } else {
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<float>(from.At(j, args));
  }
}

}  // namespace

double FinishOperand::At(int64_t column, absl::Span<void* const> args) const {
  if (arg < 0) return value;
  const int64_t at = offset + column * stride;
  switch (dtype) {
    case DType::kF32:
      return ElementAt<float>(args[arg], at);
    case DType::kI32:
      return ElementAt<int32_t>(args[arg], at);
    case DType::kU8:
      return ElementAt<uint8_t>(args[arg], at);
    default:
      return ElementAt<int8_t>(args[arg], at);
  }
}

IntegerFinish FoundFinish::Read(absl::Span<void* const> args, int64_t real, int64_t columns,
                                float* scratch) const {
  IntegerFinish read = finish;
  if (table) read.table = table->data();
  read.scale = scratch;
  read.bias = scratch + columns;
  std::fill(scratch, scratch + ScratchFloats(columns), 0.0f);
  ReadColumns(scale, args, real, scratch);
  ReadColumns(bias, args, real, scratch + columns);
  UnitFinder::Largest largest;
  largest.scale = LargestMagnitude(scratch, real);
  largest.bias = LargestMagnitude(scratch + columns, real);
  for (int m = 0; m < read.middles; ++m) {
    if (late_bias[m].arg < 0 && late_bias[m].value == 0) continue;
    float* own = scratch + (2 + m) * columns;
    ReadColumns(late_bias[m], args, real, own);
    largest.late_bias[m] = LargestMagnitude(own, real);
    read.middle[m].late_bias = own;
  }
  read.all_finite = std::isfinite(largest.scale) && std::isfinite(largest.bias);
  const auto narrows = [&](const Narrow& from, IntegerFinish::Narrow* to) {
    to->step = static_cast<float>(from.step.At(0, args));
    to->zero_point = static_cast<float>(from.zero_point.At(0, args));
  };
  for (int m = 0; m < read.middles; ++m) narrows(middle[m], &read.middle[m].narrow);
  narrows(narrow, &read.narrow);
  // Quotients by 0, infinity and NaN may be NaN.
  const float step = read.middle[0].narrow.step;
  read.all_finite = read.all_finite && std::isfinite(step) && step != 0;
  const bool is_narrow = read.result == IntegerResult::kU8 || read.result == IntegerResult::kI8;
  if (read.middles > 0) {
    OpenCovered(read.middle[0].narrow, &read.first);
  } else if (is_narrow && addend < 0) {
    OpenCovered(read.narrow, &read.first);
  }
  if (is_narrow) OpenCovered(read.narrow, &read.second);
  if (addend >= 0) {
    const int64_t bytes = finish.addend_kind == IntegerResult::kF32 ? 4 : 1;
    read.addend = static_cast<const char*>(args[addend]) + addend_offset * bytes;
  }
  read.unit = UnitFinder(read, largest).Run();
  return read;
}

void FoundFinish::AddTo(absl::Span<void* const> args, int64_t real, int32_t* start) const {
  if (sum_bias.arg < 0 && sum_bias.value == 0) return;
  for (int64_t j = 0; j < real; ++j) {
    const auto bias = static_cast<uint32_t>(static_cast<int32_t>(sum_bias.At(j, args)));
    start[j] = static_cast<int32_t>(static_cast<uint32_t>(start[j]) + bias);
  }
}

std::optional<FoundFinish> FindFinish(const FinishRequest& request, SizeFn value_of) {
  return FinishReader(request, value_of).Run();
}

}  // namespace weft::cpu
