// Tensor literals: `dense<[[1.0, 2.0], [3.0, 4.0]]>` and base64.
//
// Elements are read and written as words: the bits of an element or, of a
// complex element, of its two parts. A float that is not the dtype's plain NaN
// is written so that it reads back to the same bits; other NaNs, and bools that
// are neither 0 nor 1, are written as hexadecimal bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_reader.h"

namespace weft::text {
namespace {

// The dtype of a complex dtype's parts.
DType PartDType(DType dtype) {
  switch (dtype) {
    case DType::kC32:
      return DType::kF16;
    case DType::kC64:
      return DType::kF32;
    case DType::kC128:
      return DType::kF64;
    default:
      return dtype;
  }
}

uint64_t EncodeWord(DType dtype, double value) {
  if (dtype != DType::kF64) return EncodeFloat(dtype, value);
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double DecodeWord(DType dtype, uint64_t bits) {
  if (dtype != DType::kF64) return DecodeFloat(dtype, bits);
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint64_t PlainNan(DType dtype) {
  return EncodeWord(dtype, std::numeric_limits<double>::quiet_NaN());
}

// Words of a contiguous tensor that is not of integers.
std::vector<uint64_t> ReadWords(const HostTensor& tensor) {
  if (DTypeBits(tensor.dtype()) < 8) {
    std::vector<uint64_t> words;
    for (double v : tensor.ReadDoubles()) words.push_back(EncodeWord(tensor.dtype(), v));
    return words;
  }
  const int bytes = DTypeBits(PartDType(tensor.dtype())) / 8;
  const uint8_t* data = tensor.raw();
  std::vector<uint64_t> words(tensor.bytes() / bytes);
  for (uint64_t& word : words) {
    for (int i = 0; i < bytes; ++i) {
      word |= static_cast<uint64_t>(*data++) << (8 * i);
    }
  }
  return words;
}

void WriteWords(absl::Span<const uint64_t> words, HostTensor* tensor) {
  if (DTypeBits(tensor->dtype()) < 8) {
    std::vector<double> values;
    for (uint64_t word : words) values.push_back(DecodeWord(tensor->dtype(), word));
    return tensor->WriteDoubles(values);
  }
  const int bytes = DTypeBits(PartDType(tensor->dtype())) / 8;
  uint8_t* data = tensor->raw();
  for (uint64_t word : words) {
    for (int i = 0; i < bytes; ++i) {
      *data++ = static_cast<uint8_t>(word >> (8 * i));
    }
  }
}

std::string FloatWordToString(DType dtype, uint64_t bits) {
  const double value = DecodeWord(dtype, bits);
  if (std::isnan(value) && bits != PlainNan(dtype)) {
    return absl::StrCat("0x", absl::Hex(bits));
  }
  return dtype == DType::kF64 ? FloatToString(value) : FloatToString(static_cast<float>(value));
}

// One string per element.
std::vector<std::string> ElementStrings(const HostTensor& tensor) {
  std::vector<std::string> out;
  const DType dtype = tensor.dtype();
  if (IsInt(dtype)) {
    for (int64_t v : tensor.ReadInts()) {
      out.push_back(dtype == DType::kU64 ? absl::StrCat(static_cast<uint64_t>(v))
                                         : absl::StrCat(v));
    }
    return out;
  }
  const std::vector<uint64_t> words = ReadWords(tensor.Contiguous());
  const DType part = PartDType(dtype);
  for (size_t i = 0; i < words.size(); ++i) {
    if (dtype == DType::kBool) {
      out.push_back(words[i] == 0   ? "false"
                    : words[i] == 1 ? "true"
                                    : absl::StrCat("0x", absl::Hex(words[i])));
    } else if (IsComplex(dtype)) {
      out.push_back(absl::StrCat("(", FloatWordToString(part, words[i]), ", ",
                                 FloatWordToString(part, words[i + 1]), ")"));
      ++i;
    } else {
      out.push_back(FloatWordToString(part, words[i]));
    }
  }
  return out;
}

}  // namespace

void AppendDense(const HostTensor& tensor, std::string* out) {
  const std::vector<std::string> elements = ElementStrings(tensor);
  absl::StrAppend(out, "dense<");
  if (elements.empty()) absl::StrAppend(out, "[]");
  // The number of dims that begin or end at an element is the number of its brackets.
  const auto boundaries = [&tensor](size_t i) {
    int n = 0;
    for (int d = tensor.rank() - 1; d >= 0; --d) {
      if (i % tensor.dim(d) != 0) break;
      i /= tensor.dim(d);
      ++n;
    }
    return n;
  };
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i != 0) absl::StrAppend(out, ", ");
    out->append(boundaries(i), '[');
    absl::StrAppend(out, elements[i]);
    out->append(boundaries(i + 1), ']');
  }
  absl::StrAppend(out, ">");
}

bool TextReader::SkipDense(size_t* elements) {
  if (!ExpectWord("dense")) return false;
  if (!At('<')) return ExpectedKind('<');
  *elements = token_.end;
  const size_t close = text().find('>', token_.end);
  if (close == absl::string_view::npos) {
    return Fail(position(), "no \">\" ends the literal");
  }
  Seek(close + 1);
  return true;
}

bool TextReader::ParseElements(size_t elements, Type type, HostTensor* out) {
  const auto dims = type.is_tensor() ? type.static_dims() : std::optional<std::vector<int64_t>>();
  const auto numel = dims ? CheckedNumel(*dims) : std::optional<int64_t>();
  if (!numel) {
    return Fail(elements, absl::StrCat("a literal cannot have the type ", type.ToString()));
  }
  const Lexer lexer = lexer_;
  const Token token = token_;
  Seek(elements);
  std::vector<uint64_t> words;
  if (!ParseDense(type.dtype(), *dims, *numel, &words) || !Expect('>')) {
    return false;
  }
  lexer_ = lexer;
  token_ = token;
  if (IsInt(type.dtype())) {
    const std::vector<int64_t> ints(words.begin(), words.end());
    *out = HostTensor::FromInts(type.dtype(), *dims, ints);
  } else {
    *out = HostTensor(type.dtype(), *dims);
    WriteWords(words, out);
  }
  return true;
}

bool TextReader::ParseDense(DType dtype, absl::Span<const int64_t> dims, int64_t numel,
                            std::vector<uint64_t>* words) {
  const size_t begin = position();
  if (!At('[')) {  // One element that fills the tensor.
    if (!ParseElement(dtype, words)) return false;
    if (numel > kMaxSplatElements) {
      return Fail(begin, absl::StrCat("one value for more than ", kMaxSplatElements, " elements"));
    }
    const std::vector<uint64_t> one = *words;
    words->clear();
    for (int64_t i = 0; i < numel; ++i) {
      words->insert(words->end(), one.begin(), one.end());
    }
    return true;
  }
  const Lexer lexer = lexer_;
  const Token token = token_;
  Advance();
  if (numel == 0 && Accept(']')) return true;
  const bool flat = !At('[') && dims.size() > 1;
  lexer_ = lexer;
  token_ = token;
  if (flat) return ParseElementList(dtype, {&numel, 1}, words);
  if (dims.empty()) return Fail(begin, "a list where the type is a scalar");
  return ParseElementList(dtype, dims, words);
}

bool TextReader::ParseElementList(DType dtype, absl::Span<const int64_t> dims,
                                  std::vector<uint64_t>* words) {
  const size_t begin = position();
  if (!Expect('[')) return false;
  int64_t count = 0;
  while (!At(']')) {
    if (count != 0 && !Expect(',')) return false;
    if (dims.size() > 1) {
      if (!ParseElementList(dtype, dims.subspan(1), words)) return false;
    } else if (!ParseElement(dtype, words)) {
      return false;
    }
    ++count;
  }
  Advance();
  return count == dims[0] ||
         Fail(begin, absl::StrCat("the list has ", count, " items where the type has ", dims[0]));
}

bool TextReader::ParseElement(DType dtype, std::vector<uint64_t>* words) {
  if (IsInt(dtype)) return ParseIntElement(dtype, words);
  if (IsFloat(dtype)) return ParseFloatElement(dtype, words);
  if (IsComplex(dtype)) {
    const DType part = PartDType(dtype);
    return Expect('(') && ParseFloatElement(part, words) && Expect(',') &&
           ParseFloatElement(part, words) && Expect(')');
  }
  if (AtWord("true") || AtWord("false")) {
    words->push_back(AtWord("true"));
  } else if (At(kHex) && HexToUint64(token_.text).value_or(256) < 256) {
    words->push_back(*HexToUint64(token_.text));
  } else {
    return Expected("true or false");
  }
  Advance();
  return true;
}

bool TextReader::ParseIntElement(DType dtype, std::vector<uint64_t>* words) {
  const size_t begin = position();
  const bool negative = Accept('-');
  if (!At(kInteger)) return ExpectedKind(kInteger);
  const auto magnitude = DigitsToUint64(token_.text);
  const uint64_t max = dtype == DType::kU64 ? std::numeric_limits<uint64_t>::max()
                                            : static_cast<uint64_t>(IntMax(dtype));
  const uint64_t lowest = uint64_t{0} - static_cast<uint64_t>(IntMin(dtype));
  if (!magnitude || *magnitude > (negative ? lowest : max)) {
    return Fail(begin, absl::StrCat("the value does not fit in ", DTypeName(dtype)));
  }
  Advance();
  words->push_back(negative ? uint64_t{0} - *magnitude : *magnitude);
  return true;
}

bool TextReader::ParseFloatElement(DType dtype, std::vector<uint64_t>* words) {
  const size_t begin = position();
  if (At(kHex)) {
    const auto bits = HexToUint64(token_.text);
    if (!bits || (DTypeBits(dtype) < 64 && *bits >> DTypeBits(dtype) != 0)) {
      return Fail(begin, absl::StrCat("the bits do not fit in ", DTypeName(dtype)));
    }
    words->push_back(*bits);
    Advance();
    return true;
  }
  const bool negative = Accept('-');
  double value;
  if (dtype != DType::kF64 && (At(kInteger) || At(kFloat))) {
    // Rounds once, to the value that is printed.
    const auto parsed = ParseDecimalFloat(token_.text);
    if (!parsed) {
      return Fail(begin, absl::StrCat("the value does not fit in ", DTypeName(dtype)));
    }
    value = *parsed;
    Advance();
  } else if (At('-') || !ParseDouble(&value)) {
    return Expected("a number");
  }
  if (negative) value = -value;
  words->push_back(EncodeWord(dtype, value));
  const double stored = DecodeWord(dtype, words->back());
  // These formats clamp, and f8e8m0 drops signs: only what they have is written.
  const bool fits = IsStorageFloat(dtype)
                        ? stored == value || (std::isnan(stored) && std::isnan(value))
                        : !std::isfinite(value) || std::isfinite(stored);
  return fits || Fail(begin, absl::StrCat("the value does not fit in ", DTypeName(dtype)));
}

std::string EncodeTensor(const HostTensor& tensor) {
  const HostTensor dense = tensor.Contiguous();
  std::string out;
  absl::Base64Escape(absl::string_view(reinterpret_cast<const char*>(dense.raw()),
                                       static_cast<size_t>(dense.bytes())),
                     &out);
  return out;
}

std::optional<HostTensor> DecodeTensor(absl::string_view base64, Type type, std::string* error) {
  const auto dims = type.is_tensor() ? type.static_dims() : std::optional<std::vector<int64_t>>();
  const auto numel = dims ? CheckedNumel(*dims) : std::optional<int64_t>();
  if (!numel) {
    *error = absl::StrCat("a constant cannot have the type ", type.ToString());
    return std::nullopt;
  }
  std::string bytes;
  if (!absl::Base64Unescape(base64, &bytes)) {
    *error = "this is not base64";
    return std::nullopt;
  }
  const int64_t size = static_cast<int64_t>(bytes.size());
  // An element takes 4 bits or more, so the multiplication below does not overflow.
  if (*numel / 2 > size || DTypeBytes(type.dtype(), *numel) != size) {
    *error = absl::StrCat("the data has ", size, " bytes, which is not what ", type.ToString(),
                          " takes");
    return std::nullopt;
  }
  HostTensor tensor(type.dtype(), *dims);
  if (size != 0) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace weft::text
