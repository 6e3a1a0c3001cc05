#include "passes/quantize/spec.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "passes/quantize/observer.h"

namespace weft {
namespace {

constexpr int kMaxBits = 32;

struct SchemeName {
  absl::string_view name;
  QuantScheme scheme;
};
constexpr SchemeName kSchemes[] = {
    {"affine", QuantScheme::kAffine},
    {"symmetric", QuantScheme::kSymmetric},
    {"fixed", QuantScheme::kFixed},
    {"derived", QuantScheme::kDerived},
};

absl::string_view NameOf(QuantScheme scheme) {
  for (const SchemeName& row : kSchemes) {
    if (row.scheme == scheme) return row.name;
  }
  return "";
}

bool HasAxis(QuantGranularity granularity) {
  return granularity == QuantGranularity::kAxis || granularity == QuantGranularity::kBlock;
}

bool IsQuantizedDType(DType dtype) {
  return DTypeBits(dtype) <= kMaxBits &&
         (IsInt(dtype) || (IsFloat(dtype) && DTypeBits(dtype) <= 8 && dtype != DType::kF8E8M0));
}

bool IsKnownObserver(absl::string_view name) {
  const absl::Span<const char* const> names = ObserverNames();
  return std::any_of(names.begin(), names.end(), [name](const char* n) { return name == n; });
}

// A word of the text and where it begins.
struct Word {
  absl::string_view text;
  size_t at = 0;
};

std::vector<Word> WordsOf(absl::string_view text) {
  constexpr absl::string_view kSpace = " \t\r\n";
  std::vector<Word> words;
  for (size_t at = text.find_first_not_of(kSpace); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back({text.substr(at, end - at), at});
    at = text.find_first_not_of(kSpace, end);
  }
  return words;
}

class SpecParser {
 public:
  SpecParser(absl::string_view text, size_t* at) : words_(WordsOf(text)), at_(at) {
    *at_ = text.size();
  }

  absl::StatusOr<QuantSpec> Run() {
    if (words_.empty()) return absl::InvalidArgumentError("a spec begins with a dtype");
    WEFT_RETURN_IF_ERROR(ParseDtype(words_[0]));
    if (words_.size() < 2) return absl::InvalidArgumentError(kNeedsScheme);
    WEFT_RETURN_IF_ERROR(ParseScheme(words_[1]));
    for (size_t i = 2; i < words_.size(); ++i) WEFT_RETURN_IF_ERROR(ParsePart(words_[i]));
    *at_ = words_[0].at;
    WEFT_RETURN_IF_ERROR(FinishGranularity());
    WEFT_RETURN_IF_ERROR(CheckQuantSpec(spec_));
    return spec_;
  }

 private:
  static constexpr absl::string_view kNeedsScheme =
      "a scheme follows the dtype: affine, symmetric, fixed or derived";

  absl::Status Error(const Word& word, absl::string_view message) {
    *at_ = word.at;
    return absl::InvalidArgumentError(message);
  }
  absl::Status Unknown(const Word& word) {
    return Error(word, absl::StrCat("\"", word.text, "\" is no part of a spec; there are tensor, ",
                                    "token, axis=, block=, dynamic, scales=, eps=, scale=, ",
                                    "zero_point= ", "and the observers ",
                                    absl::StrJoin(ObserverNames(), ", ")));
  }

  // `i8` or `i8[-127..127]`.
  absl::Status ParseDtype(const Word& word) {
    const size_t bracket = std::min(word.text.find('['), word.text.size());
    const auto dtype = ParseDType(word.text.substr(0, bracket));
    if (!dtype || !IsQuantizedDType(*dtype)) {
      return Error(word, absl::StrCat("\"", word.text.substr(0, bracket),
                                      "\" is no dtype of quantized values"));
    }
    spec_.dtype = *dtype;
    std::tie(spec_.quant_min, spec_.quant_max) = QuantRangeOf(*dtype);
    absl::string_view range = word.text.substr(bracket);
    if (range.empty()) return absl::OkStatus();
    const size_t dots = range.find("..");
    const bool parsed = absl::ConsumePrefix(&range, "[") && absl::ConsumeSuffix(&range, "]") &&
                        dots != range.npos &&
                        absl::SimpleAtoi(range.substr(0, dots - 1), &spec_.quant_min) &&
                        absl::SimpleAtoi(range.substr(dots + 1), &spec_.quant_max);
    if (parsed) return absl::OkStatus();
    return Error({word.text, word.at + bracket}, "a range is written [-127..127]");
  }

  absl::Status ParseScheme(const Word& word) {
    for (const SchemeName& row : kSchemes) {
      if (word.text != row.name) continue;
      spec_.scheme = row.scheme;
      return absl::OkStatus();
    }
    return Error(word, absl::StrCat(kNeedsScheme, ", not \"", word.text, "\""));
  }

  absl::Status ParsePart(const Word& word) {
    for (const absl::string_view seen : seen_) {
      if (seen == word.text.substr(0, word.text.find('='))) {
        return Error(word, absl::StrCat("a second ", seen));
      }
    }
    seen_.push_back(word.text.substr(0, word.text.find('=')));
    const size_t equals = word.text.find('=');
    if (equals != word.text.npos) {
      return ParseNumber(word, word.text.substr(0, equals), word.text.substr(equals + 1));
    }
    if (word.text == "tensor" || word.text == "token") return absl::OkStatus();
    if (word.text == "dynamic") {
      spec_.dynamic = true;
      return absl::OkStatus();
    }
    if (!IsKnownObserver(word.text)) return Unknown(word);
    if (!observer_.empty()) return Error(word, "a second observer");
    observer_ = spec_.observer = std::string(word.text);
    return absl::OkStatus();
  }

  absl::Status ParseScales(const Word& word, absl::string_view name) {
    const auto dtype = ParseDType(name);
    if (dtype != DType::kF32 && dtype != DType::kF8E8M0) {
      return Error(word, absl::StrCat("scales are f32 or f8e8m0, not \"", name, "\""));
    }
    spec_.scale_dtype = *dtype;
    return absl::OkStatus();
  }

  absl::Status ParseNumber(const Word& word, absl::string_view name, absl::string_view number) {
    if (name == "scales") return ParseScales(word, number);
    bool parsed = false;
    if (name == "axis") {
      parsed = absl::SimpleAtoi(number, &spec_.axis);
    } else if (name == "block") {
      parsed = absl::SimpleAtoi(number, &spec_.block);
    } else if (name == "zero_point") {
      parsed = absl::SimpleAtoi(number, &spec_.zero_point);
    } else if (name == "eps") {
      parsed = absl::SimpleAtod(number, &spec_.eps);
    } else if (name == "scale") {
      parsed = absl::SimpleAtod(number, &spec_.scale);
    } else {
      return Unknown(word);
    }
    if (parsed) return absl::OkStatus();
    return Error(word, absl::StrCat("\"", number, "\" is no number for ", name));
  }

  bool Has(absl::string_view word) const {
    return std::find(seen_.begin(), seen_.end(), word) != seen_.end();
  }

  // The words that are of no use with the scheme or the granularity are errors: they would be lost.
  absl::Status FinishGranularity() {
    const int kinds = Has("tensor") + Has("token") + (Has("axis") || Has("block"));
    if (kinds > 1) return absl::InvalidArgumentError("one of tensor, token and axis=");
    if (Has("block") && !Has("axis")) return absl::InvalidArgumentError("block= goes with axis=");
    if (Has("block")) {
      spec_.granularity = QuantGranularity::kBlock;
    } else if (Has("axis")) {
      spec_.granularity = QuantGranularity::kAxis;
    } else if (Has("token")) {
      spec_.granularity = QuantGranularity::kToken;
    }
    const bool fixed = spec_.scheme == QuantScheme::kFixed;
    if (fixed != Has("scale") || (Has("zero_point") && !fixed)) {
      return absl::InvalidArgumentError("a fixed spec, and no other, has scale= and zero_point=");
    }
    if (!IsObserved(spec_) && !observer_.empty()) {
      return absl::InvalidArgumentError("nothing is observed for fixed, derived and dynamic specs");
    }
    if (Has("eps") && (fixed || spec_.scheme == QuantScheme::kDerived)) {
      return absl::InvalidArgumentError("eps= bounds scales that are chosen");
    }
    return absl::OkStatus();
  }

  std::vector<Word> words_;
  size_t* at_;
  QuantSpec spec_;
  // Words after the scheme, numbers by their name.
  std::vector<absl::string_view> seen_;
  std::string observer_;
};

absl::Status CheckRange(const QuantSpec& spec) {
  const auto [min, max] = QuantRangeOf(spec.dtype);
  const std::string range = absl::StrCat("[", spec.quant_min, "..", spec.quant_max, "]");
  if (spec.quant_min < min || spec.quant_max > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(range, " is not within ", DTypeName(spec.dtype)));
  }
  if (spec.quant_min >= spec.quant_max || spec.quant_min > 0 || spec.quant_max < 0) {
    return absl::InvalidArgumentError(absl::StrCat(range, " does not hold 0 and another value"));
  }
  if (IsFloat(spec.dtype) && (spec.quant_min != min || spec.quant_max != max)) {
    return absl::InvalidArgumentError("a float dtype has its own range");
  }
  return absl::OkStatus();
}

absl::Status CheckScheme(const QuantSpec& spec) {
  if (spec.scheme == QuantScheme::kAffine && IsFloat(spec.dtype)) {
    return absl::InvalidArgumentError("float dtypes are symmetric, fixed or derived");
  }
  const bool chosen = spec.scheme == QuantScheme::kAffine || spec.scheme == QuantScheme::kSymmetric;
  if (spec.scale_dtype != DType::kF32 && spec.scheme != QuantScheme::kSymmetric) {
    return absl::InvalidArgumentError("scales= goes with symmetric");
  }
  if (spec.dynamic && !chosen) {
    return absl::InvalidArgumentError("a dynamic spec is affine or symmetric");
  }
  if (spec.scheme != QuantScheme::kFixed) return absl::OkStatus();
  if (spec.granularity != QuantGranularity::kTensor) {
    return absl::InvalidArgumentError("a fixed spec has one scale: tensor");
  }
  if (!(spec.scale > 0) || !std::isfinite(spec.scale)) {
    return absl::InvalidArgumentError("a scale is positive and finite");
  }
  if (spec.zero_point < spec.quant_min || spec.zero_point > spec.quant_max ||
      (IsFloat(spec.dtype) && spec.zero_point != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the zero point ", spec.zero_point, " is out of range"));
  }
  return absl::OkStatus();
}

absl::Status CheckGranularity(const QuantSpec& spec) {
  if (spec.granularity == QuantGranularity::kBlock && spec.block < 1) {
    return absl::InvalidArgumentError(absl::StrCat("block=", spec.block, " is not positive"));
  }
  if (spec.granularity == QuantGranularity::kToken && !spec.dynamic) {
    return absl::InvalidArgumentError("scales of tokens are dynamic");
  }
  const bool plain =
      spec.granularity == QuantGranularity::kTensor || spec.granularity == QuantGranularity::kAxis;
  if (spec.scheme == QuantScheme::kDerived && !plain) {
    return absl::InvalidArgumentError("a derived spec is by tensor or by axis");
  }
  return absl::OkStatus();
}

}  // namespace

std::pair<int64_t, int64_t> QuantRangeOf(DType dtype) {
  switch (dtype) {
    case DType::kF4E2M1:
      return {-6, 6};
    case DType::kF8E4M3:
      return {-448, 448};
    case DType::kF8E4M3FNUZ:
      return {-240, 240};
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return {-57344, 57344};
    default:
      return {IntMin(dtype), IntMax(dtype)};
  }
}

bool IsObserved(const QuantSpec& spec) {
  return !spec.dynamic &&
         (spec.scheme == QuantScheme::kAffine || spec.scheme == QuantScheme::kSymmetric);
}

bool QuantSpec::operator==(const QuantSpec& other) const {
  const bool same = dtype == other.dtype && quant_min == other.quant_min &&
                    quant_max == other.quant_max && scheme == other.scheme &&
                    granularity == other.granularity && dynamic == other.dynamic &&
                    scale_dtype == other.scale_dtype;
  if (!same) return false;
  if (HasAxis(granularity) && axis != other.axis) return false;
  if (granularity == QuantGranularity::kBlock && block != other.block) return false;
  if (scheme == QuantScheme::kFixed) {
    return scale == other.scale && zero_point == other.zero_point;
  }
  if (scheme == QuantScheme::kDerived) return true;
  return eps == other.eps && (dynamic || observer == other.observer);
}

std::string ToText(const QuantSpec& spec) {
  std::string text(DTypeName(spec.dtype));
  if (std::make_pair(spec.quant_min, spec.quant_max) != QuantRangeOf(spec.dtype)) {
    absl::StrAppend(&text, "[", spec.quant_min, "..", spec.quant_max, "]");
  }
  absl::StrAppend(&text, " ", NameOf(spec.scheme));
  if (spec.scheme == QuantScheme::kFixed) {
    absl::StrAppend(&text, " scale=", FloatToString(spec.scale), " zero_point=", spec.zero_point);
    return text;
  }
  if (HasAxis(spec.granularity)) {
    absl::StrAppend(&text, " axis=", spec.axis);
  } else if (spec.granularity == QuantGranularity::kToken) {
    absl::StrAppend(&text, " token");
  } else if (spec.scheme != QuantScheme::kDerived) {
    absl::StrAppend(&text, " tensor");
  }
  if (spec.granularity == QuantGranularity::kBlock) absl::StrAppend(&text, " block=", spec.block);
  if (spec.dynamic) absl::StrAppend(&text, " dynamic");
  if (IsObserved(spec)) absl::StrAppend(&text, " ", spec.observer);
  if (spec.scale_dtype != DType::kF32) {
    absl::StrAppend(&text, " scales=", DTypeName(spec.scale_dtype));
  }
  if (spec.scheme != QuantScheme::kDerived && spec.eps != QuantSpec().eps) {
    absl::StrAppend(&text, " eps=", FloatToString(spec.eps));
  }
  return text;
}

absl::StatusOr<QuantSpec> ParseQuantSpecAt(absl::string_view text, size_t* at) {
  return SpecParser(text, at).Run();
}

absl::StatusOr<QuantSpec> ParseQuantSpec(absl::string_view text) {
  size_t at = 0;
  absl::StatusOr<QuantSpec> spec = ParseQuantSpecAt(text, &at);
  if (spec.ok()) return spec;
  return absl::InvalidArgumentError(absl::StrCat("quantization spec \"", text, "\", column ",
                                                 at + 1, ": ", spec.status().message()));
}

absl::Status CheckQuantSpec(const QuantSpec& spec) {
  if (!IsQuantizedDType(spec.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat(DTypeName(spec.dtype), " is no dtype of quantized values"));
  }
  WEFT_RETURN_IF_ERROR(CheckRange(spec));
  WEFT_RETURN_IF_ERROR(CheckScheme(spec));
  WEFT_RETURN_IF_ERROR(CheckGranularity(spec));
  if (!(spec.eps > 0) || !std::isfinite(spec.eps)) {
    return absl::InvalidArgumentError("eps is positive and finite");
  }
  if (IsObserved(spec) && !IsKnownObserver(spec.observer)) {
    return absl::InvalidArgumentError(absl::StrCat("no observer ", spec.observer, "; there are ",
                                                   absl::StrJoin(ObserverNames(), ", ")));
  }
  return absl::OkStatus();
}

}  // namespace weft
