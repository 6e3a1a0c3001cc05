#include "graph/target/target_text.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/quote.h"
#include "graph/text/parts/text_reader.h"

namespace weft {
namespace {

// Limits on the contents of a file.
constexpr size_t kMaxListed = 4096;

// --- fields ------------------------------------------------------------------
// Each struct's fields, named once: printing and parsing visit them.

template <typename Visitor>
void VisitFields(Routine& r, Visitor& visit) {
  visit("ops", r.ops);
  visit("dtypes", r.dtypes);
  visit("result_dtypes", r.result_dtypes);
  visit("min_rank", r.min_rank);
  visit("max_rank", r.max_rank);
  visit("constant_attrs", r.constant_attrs);
  visit("unit_attrs", r.unit_attrs);
  visit("absent_operands", r.absent_operands);
  visit("unused_results", r.unused_results);
  visit("strided", r.strided);
  visit("channel_dim", r.channel_dim);
  visit("indices", r.indices);
  visit("in_place", r.in_place);
  visit("prefers_channels_last", r.prefers_channels_last);
  visit("contract", r.contract);
}

template <typename Visitor>
void VisitFields(EpilogueClaim& e, Visitor& visit) {
  visit("ops", e.ops);
  visit("routines", e.routines);
  visit("dtypes", e.dtypes);
  visit("operand_sizes", e.operand_sizes);
  visit("either_operand", e.either_operand);
  visit("absent_attrs", e.absent_attrs);
}

template <typename Visitor>
void VisitFields(Target& t, Visitor& visit) {
  visit("composites", t.composites);
  visit("kernel_dtypes", t.kernel_dtypes);
  visit("max_kernel_nodes", t.max_kernel_nodes);
  visit("max_kernel_inputs", t.max_kernel_inputs);
  visit("max_row_elements", t.max_row_elements);
  visit("vector_bytes", t.vector_bytes);
  visit("l1_bytes", t.l1_bytes);
  visit("division_work", t.costs.division_work);
  visit("function_work", t.costs.function_work);
  visit("row_work", t.costs.row_work);
  visit("step_cost", t.costs.step_cost);
  visit("load_one_cost", t.costs.load_one_cost);
  visit("load_apart_cost", t.costs.load_apart_cost);
  visit("store_apart_cost", t.costs.store_apart_cost);
  visit("run_steps", t.costs.run_steps);
  visit("tail_steps", t.costs.tail_steps);
  visit("streams", t.costs.streams);
  visit("stream_bytes", t.costs.stream_bytes);
}

// --- values ------------------------------------------------------------------

constexpr absl::string_view kSizesNames[] = {"same", "channels", "scalar", "other"};

bool IsIdentifier(absl::string_view name) {
  text::Lexer lexer(name);
  const text::Token token = lexer.Next();
  return token.kind == text::kIdentifier && token.text == name;
}

std::string ToText(const std::string& name) { return IsIdentifier(name) ? name : Quote(name); }
std::string ToText(DType dtype) { return std::string(DTypeName(dtype)); }
std::string ToText(bool flag) { return flag ? "true" : "false"; }
std::string ToText(int number) {
  return number == Routine::kResult ? "result" : absl::StrCat(number);
}
std::string ToText(int64_t number) { return absl::StrCat(number); }
std::string ToText(NumericContract contract) { return Quote(NumericContractName(contract)); }
std::string ToText(OperandSizes sizes) { return std::string(kSizesNames[static_cast<int>(sizes)]); }
template <typename T>
std::string ToText(const std::vector<T>& list) {
  const auto append = [](std::string* out, const T& item) { out->append(ToText(item)); };
  return absl::StrCat("[", absl::StrJoin(list, ", ", append), "]");
}

// --- printing ----------------------------------------------------------------

class Printer {
 public:
  template <typename T>
  void Block(absl::string_view head, T value, absl::string_view indent) {
    absl::StrAppend(&out_, indent, head, " {\n");
    Fields(std::move(value), indent);
    absl::StrAppend(&out_, indent, "}\n");
  }

  template <typename T>
  void Fields(T value, absl::string_view indent) {
    std::vector<std::string> defaults;
    const auto keep = [&](absl::string_view, auto& field) { defaults.push_back(ToText(field)); };
    T standard;
    VisitFields(standard, keep);
    size_t i = 0;
    const auto print = [&](absl::string_view name, auto& field) {
      const std::string text = ToText(field);
      if (text != defaults[i++]) absl::StrAppend(&out_, indent, "  ", name, " = ", text, "\n");
    };
    VisitFields(value, print);
  }

  std::string Finish(const Target& target) {
    absl::StrAppend(&out_, "target ", ToText(target.name), " {\n");
    Fields(target, "");
    for (const Routine& r : target.routines) {
      Block(absl::StrCat("routine ", ToText(r.name)), r, "  ");
    }
    for (const EpilogueClaim& e : target.epilogues) Block("epilogue", e, "  ");
    return out_ + "}\n";
  }

 private:
  std::string out_;
};

// --- parsing -----------------------------------------------------------------

class TargetParser {
 public:
  TargetParser(absl::string_view text, absl::string_view filename) : reader_(text, filename) {}

  absl::StatusOr<Target> Parse() {
    Target target;
    if (reader_.ExpectWord("target") && Name(&target.name) && Body(&target) &&
        !reader_.At(text::kEnd)) {
      reader_.Expected("the end of the text");
    }
    if (!reader_.status().ok()) return reader_.status();
    return target;
  }

 private:
  bool Body(Target* target) {
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (reader_.AcceptWord("routine")) {
        Routine routine;
        if (!Name(&routine.name) || !Block(&routine)) return false;
        target->routines.push_back(std::move(routine));
      } else if (reader_.AcceptWord("epilogue")) {
        EpilogueClaim claim;
        if (!Block(&claim)) return false;
        target->epilogues.push_back(std::move(claim));
      } else if (!Field(target)) {
        return false;
      }
      if (target->routines.size() + target->epilogues.size() > kMaxListed) {
        return reader_.Fail(reader_.position(), "a target has at most 4096 routines and epilogues");
      }
    }
    return true;
  }

  template <typename T>
  bool Block(T* value) {
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (!Field(value)) return false;
    }
    return true;
  }

  // "name = value" of one field.
  template <typename T>
  bool Field(T* value) {
    const size_t begin = reader_.position();
    std::string name;
    if (!Name(&name)) return false;
    bool found = false;
    std::vector<absl::string_view> names;
    const auto parse = [&](absl::string_view field_name, auto& field) {
      names.push_back(field_name);
      if (field_name != name) return;
      found = true;
      if (reader_.Expect('=')) Value(&field);
    };
    VisitFields(*value, parse);
    if (found) return reader_.status().ok();
    return reader_.Fail(begin, absl::StrCat("there is no field ", name,
                                            "; the fields are: ", absl::StrJoin(names, ", ")));
  }

  // An identifier or a string.
  bool Name(std::string* out) {
    if (reader_.At(text::kString)) return reader_.ParseString(out);
    if (!reader_.At(text::kIdentifier)) return reader_.Expected("a name");
    *out = std::string(reader_.token().text);
    reader_.Advance();
    return true;
  }

  bool Value(std::string* out) { return Name(out); }
  bool Value(DType* out) {
    return Lookup(ParseDType(reader_.token().text), "an element type", out);
  }
  bool Value(OperandSizes* out) {
    std::optional<OperandSizes> found;
    for (size_t i = 0; i < std::size(kSizesNames); ++i) {
      if (reader_.token().text == kSizesNames[i]) found = static_cast<OperandSizes>(i);
    }
    return Lookup(found, "same, channels, scalar or other", out);
  }
  bool Value(NumericContract* out) {
    return Lookup(ParseNumericContract(reader_.token().text),
                  "\"bit-exact\", \"value-safe\", \"reassociating\" or \"approximate\"", out);
  }
  bool Value(bool* out) {
    *out = reader_.AtWord("true");
    return reader_.AcceptWord("true") || reader_.AcceptWord("false") ||
           reader_.Expected("true or false");
  }
  bool Value(int* out) {
    if (reader_.AcceptWord("result")) return *out = Routine::kResult, true;
    const size_t begin = reader_.position();
    int64_t number = 0;
    if (!reader_.ParseInt(&number)) return false;
    if (number < -64 || number > 4096) {
      return reader_.Fail(begin, "the number must be from -64 to 4096");
    }
    *out = static_cast<int>(number);
    return true;
  }
  bool Value(int64_t* out) {
    const size_t begin = reader_.position();
    if (!reader_.ParseInt(out)) return false;
    return *out >= 1 || reader_.Fail(begin, "the number must be at least 1");
  }
  template <typename T>
  bool Value(std::vector<T>* out) {
    out->clear();
    if (!reader_.Expect('[')) return false;
    while (!reader_.Accept(']')) {
      if (!out->empty() && !reader_.Expect(',')) return false;
      if (out->size() == kMaxListed) {
        return reader_.Fail(reader_.position(), "a list has at most 4096 items");
      }
      if (!Value(&out->emplace_back())) return false;
    }
    return true;
  }

  template <typename T>
  bool Lookup(std::optional<T> found, absl::string_view what, T* out) {
    if (!found.has_value()) return reader_.Expected(what);
    *out = *found;
    reader_.Advance();
    return true;
  }

  text::TextReader reader_;
};

}  // namespace

std::string PrintTarget(const Target& target) { return Printer().Finish(target); }

absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view filename) {
  return TargetParser(text, filename).Parse();
}

uint64_t HashTarget(const Target& target) { return Fnv1a(PrintTarget(target)); }

}  // namespace weft
