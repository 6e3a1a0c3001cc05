// The parts of the text form that all its parsers share: names, sizes, types,
// attributes. The first error sticks; every function returns false after it.
#ifndef WEFT_GRAPH_TEXT_PARTS_TEXT_READER_H_
#define WEFT_GRAPH_TEXT_PARTS_TEXT_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"
#include "graph/tensor/type.h"
#include "graph/text/parts/text_lexer.h"

namespace weft {
class HostTensor;
struct AttrSpec;
struct OpSchema;
}  // namespace weft

namespace weft::text {

// Limits on the contents of a text.
inline constexpr int kMaxNesting = 100;  // Nesting of regions and of parentheses.
inline constexpr int64_t kMaxSplatElements = int64_t{1} << 16;

class TextReader {
 public:
  TextReader(absl::string_view text, absl::string_view filename, int depth = 0)
      : lexer_(text, depth), filename_(filename) {
    Advance();
  }

  const absl::Status& status() const { return status_; }
  const Token& token() const { return token_; }
  size_t position() const { return token_.begin; }
  void Advance() { token_ = lexer_.Next(); }
  void Seek(size_t position) {
    lexer_.Seek(position);
    Advance();
  }
  absl::string_view text() const { return lexer_.text(); }

  bool Fail(size_t position, absl::string_view message);
  // Takes `status` as the error, unless there is one already.
  bool Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  // "expected <what>, found <the token>".
  bool Expected(absl::string_view what);
  bool At(int kind) const { return token_.kind == kind; }
  bool AtWord(absl::string_view word) const {
    return token_.kind == kIdentifier && token_.text == word;
  }
  bool Accept(int kind) {
    if (token_.kind != kind) return false;
    Advance();
    return true;
  }
  bool AcceptWord(absl::string_view word) {
    if (!AtWord(word)) return false;
    Advance();
    return true;
  }
  bool Expect(int kind) { return Accept(kind) || ExpectedKind(kind); }
  bool ExpectWord(absl::string_view word);

  bool ParseString(std::string* out);
  // The name of a value (%x) or global (@x), unescaped.
  bool ParseSigilName(bool value, std::string* out);
  // Reads an optional '-' and digits.
  bool ParseInt(int64_t* out);
  // Reads a signed integer or float, inf or nan; hexadecimal digits are the bits of a double.
  bool ParseDouble(double* out);
  bool ParseSymbol(SymInt* out);
  bool ParseSymInt(SymInt* out);
  // True at the name of a function of sizes: min, max, broadcast, pow, select.
  bool AtFunction() const;
  bool ParseType(Type* out);

  // The symbols that sizes have mentioned since the last call, each once.
  std::vector<SymInt> TakeNewSymbols() { return std::move(new_symbols_); }
  // Reports every symbol as new again.
  void ForgetSymbols() {
    symbols_.clear();
    types_.clear();
  }
  bool has_new_symbols() const { return !new_symbols_.empty(); }

  // Reads `name=value` into the slot of the attribute; `given` has a flag for each.
  bool ParseAttribute(const OpSchema& schema, std::vector<AttrValue>* values,
                      std::vector<bool>* given);
  // Fills in defaults; an error is reported at `position`.
  bool FinishAttributes(const OpSchema& schema, size_t position, std::vector<AttrValue>* values,
                        const std::vector<bool>& given);

  // `dense<...>` stands before its type: SkipDense gives the offset of the text in the angle
  // brackets, and ParseElements reads it once the type is known.
  bool SkipDense(size_t* elements);
  bool ParseElements(size_t elements, Type type, HostTensor* out);

 private:
  bool ExpectedKind(int kind);
  bool ParseCondition(SymInt* out, int depth);
  bool ParseConjunction(SymInt* out, int depth);
  bool ParseComparison(SymInt* out, int depth);
  bool CheckCondition(size_t position, SymInt value);
  bool ParseSum(SymInt* out, int depth);
  bool ParseTerm(bool negate, SymInt* out, int depth);
  bool ParseFactor(SymInt* out, int depth);
  bool ParsePrimary(SymInt* out, int depth);
  bool ParseFunction(SymInt* out, int depth);
  bool Valid(size_t position, SymInt value);
  bool ParseUnsigned(uint64_t* out);
  bool ParseTensorType(DType dtype, Type* out);
  bool ParseAttrValue(const AttrSpec& spec, AttrValue* out);
  bool ParseElement(DType dtype, std::vector<uint64_t>* words);
  bool ParseFloatElement(DType dtype, std::vector<uint64_t>* words);
  bool ParseIntElement(DType dtype, std::vector<uint64_t>* words);
  bool ParseElementList(DType dtype, absl::Span<const int64_t> dims, std::vector<uint64_t>* words);
  bool ParseDense(DType dtype, absl::Span<const int64_t> dims, int64_t numel,
                  std::vector<uint64_t>* words);
  bool ParseScalarAttr(AttrKind kind, AttrValue* out);
  bool ParseListAttr(AttrKind kind, AttrValue* out);
  template <typename T, typename Fn>
  bool ParseList(Fn parse, std::vector<T>* out);

  Lexer lexer_;
  Token token_;
  std::string filename_;
  absl::Status status_;
  std::vector<SymInt> new_symbols_;
  absl::flat_hash_map<absl::string_view, SymInt> symbols_;
  absl::flat_hash_map<absl::string_view, Type> types_;
};

// The value of decimal digits; nullopt if it passes 64 bits.
std::optional<uint64_t> DigitsToUint64(absl::string_view digits);
// The value of a hexadecimal token, "0x" included.
std::optional<uint64_t> HexToUint64(absl::string_view text);
// The value of a number without a sign; nullopt on overflow. Underflow gives 0.
std::optional<double> ParseDecimal(absl::string_view text);
std::optional<float> ParseDecimalFloat(absl::string_view text);

// Appends `dense<...>` with all elements of the tensor.
void AppendDense(const HostTensor& tensor, std::string* out);

// Base64 of the dense little-endian bytes.
std::string EncodeTensor(const HostTensor& tensor);
// Nullopt, with a message in `error`, if `base64` does not hold a tensor of that type. Allocates in
// proportion to `base64`.
std::optional<HostTensor> DecodeTensor(absl::string_view base64, Type type, std::string* error);

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_PARTS_TEXT_READER_H_
