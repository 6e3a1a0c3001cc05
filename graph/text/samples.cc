// Reads OpSpec::Samples.
//
//   softmax(f32[2, 3], dim=1)
//   gather(f32[4, 5], i64[2, 5]{0..3}, dim=0)
//   softmax(f32[2, 3], dim=5) ! "dim 5 is out of range"
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/text/parts/text_reader.h"
#include "graph/text/text.h"

namespace weft {
namespace {

using text::TextReader;

class SampleParser {
 public:
  SampleParser(absl::string_view text, const OpRegistry& registry)
      : reader_(text, "<samples>"), registry_(registry) {}

  absl::StatusOr<std::vector<Sample>> Run() {
    std::vector<Sample> samples;
    while (!reader_.At(text::kEnd)) {
      samples.emplace_back();
      if (!ParseSample(&samples.back())) return reader_.status();
    }
    return samples;
  }

 private:
  bool ParseSample(Sample* sample);
  bool ParseArguments(Sample* sample, size_t begin);
  bool ParseOperand(SampleOperand* operand);
  bool ParseValues(SampleOperand* operand);
  bool ParseValue(double* value);
  bool FinishOperands(Sample* sample, size_t begin);

  TextReader reader_;
  const OpRegistry& registry_;
};

bool SampleParser::ParseSample(Sample* sample) {
  const size_t begin = reader_.position();
  if (!reader_.At(text::kIdentifier)) return reader_.Expected("an op");
  sample->op = registry_.Find(reader_.token().text);
  if (sample->op == nullptr) {
    return reader_.Fail(begin, absl::StrCat("unknown op \"", reader_.token().text, "\""));
  }
  reader_.Advance();
  if (!reader_.Expect('(') || !ParseArguments(sample, begin)) return false;
  size_t end = reader_.token().end;
  if (!reader_.Expect(')')) return false;
  if (reader_.Accept('!')) {
    end = reader_.token().end;
    if (!reader_.ParseString(&sample->expected_error)) return false;
    if (sample->expected_error.empty()) {
      return reader_.Fail(begin, "an expected error cannot be empty");
    }
  }
  sample->text = std::string(reader_.text().substr(begin, end - begin));
  return FinishOperands(sample, begin);
}

bool SampleParser::ParseArguments(Sample* sample, size_t begin) {
  const OpSchema& schema = sample->op->schema();
  std::vector<AttrValue> values(schema.attrs.size());
  std::vector<bool> given(schema.attrs.size());
  bool any_attr = false;
  if (!reader_.At(')')) {
    do {
      const bool attr = reader_.At(text::kIdentifier) && !reader_.AtWord("none") &&
                        !reader_.AtWord("symint") && !ParseDType(reader_.token().text);
      if (attr) {
        any_attr = true;
        if (!reader_.ParseAttribute(schema, &values, &given)) return false;
        continue;
      }
      if (any_attr) {
        return reader_.Fail(reader_.position(), "operands stand before attributes");
      }
      sample->operands.emplace_back();
      if (!ParseOperand(&sample->operands.back())) return false;
    } while (reader_.Accept(','));
  }
  if (!reader_.FinishAttributes(schema, begin, &values, given)) return false;
  sample->attrs = AttrList::Get(std::move(values));
  return true;
}

bool SampleParser::ParseOperand(SampleOperand* operand) {
  if (reader_.AcceptWord("none")) return true;
  if (!reader_.ParseType(&operand->type)) return false;
  return !reader_.At('{') || ParseValues(operand);
}

bool SampleParser::ParseValues(SampleOperand* operand) {
  const size_t begin = reader_.position();
  reader_.Advance();
  double value;
  if (!reader_.At('}')) {
    do {
      if (!ParseValue(&value)) return false;
      operand->values.push_back(value);
    } while (reader_.Accept(','));
  }
  if (operand->values.size() == 1 && reader_.Accept(text::kRange)) {
    operand->min = operand->values[0];
    operand->values.clear();
    if (!ParseValue(&value)) return false;
    operand->max = value;
    if (!(*operand->min <= *operand->max)) {
      return reader_.Fail(begin, "the range is empty");
    }
    return reader_.Expect('}');
  }
  const Type type = operand->type;
  const SymInt count = type.is_tensor() ? type.numel() : SymInt(1);
  // `1, 0..`: the last value is repeated.
  constexpr int64_t kMaxRepeated = 1 << 16;
  const int64_t given = static_cast<int64_t>(operand->values.size());
  if (given > 1 && reader_.Accept(text::kRange) && count.is_constant() && count.value() > given &&
      count.value() <= kMaxRepeated) {
    operand->values.resize(count.value(), operand->values.back());
  }
  if (!reader_.Expect('}')) return false;
  if (count.Is(static_cast<int64_t>(operand->values.size()))) return true;
  return reader_.Fail(begin, absl::StrCat(operand->values.size(), " values for ", type.ToString()));
}

bool SampleParser::ParseValue(double* value) {
  if (!reader_.AtWord("true") && !reader_.AtWord("false")) {
    return reader_.ParseDouble(value);
  }
  *value = reader_.AtWord("true");
  reader_.Advance();
  return true;
}

bool SampleParser::FinishOperands(Sample* sample, size_t begin) {
  const OpSchema& schema = sample->op->schema();
  const size_t fixed = schema.num_fixed_operands();
  // Optional operands at the end may be left out.
  while (sample->operands.size() < fixed && schema.operands[sample->operands.size()].optional) {
    sample->operands.emplace_back();
  }
  const size_t given = sample->operands.size();
  if (given < fixed || (given > fixed && !schema.has_variadic_operand())) {
    return reader_.Fail(begin,
                        absl::StrCat(schema.name, " takes ", fixed, " operands, not ", given));
  }
  for (size_t i = 0; i < given; ++i) {
    const OperandSpec& spec = schema.operands[std::min(i, schema.operands.size() - 1)];
    const Type type = sample->operands[i].type;
    const bool absent = type.kind() == Type::Kind::kNone;
    if (absent ? spec.optional : type.is_symint() == spec.symint) continue;
    return reader_.Fail(begin, absl::StrCat("operand ", spec.name, " of ", schema.name,
                                            " cannot be ", type.ToString()));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ParseSamples(absl::string_view text,
                                                 const OpRegistry& registry) {
  return SampleParser(text, registry).Run();
}

}  // namespace weft
