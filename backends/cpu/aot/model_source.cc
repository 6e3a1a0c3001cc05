#include "backends/cpu/aot/model_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/cpu/aot/model_source_text.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/compiler.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/standalone/model_entry.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/tensor/type.h"
#include "lowering/plan.h"

namespace weft::cpu {
namespace {

// Words of C and C++ that names of fields cannot be.
constexpr const char* kWords[] = {
    "alignas",  "alignof",  "and",    "asm",     "auto",      "bool",     "break",     "case",
    "catch",    "char",     "class",  "compl",   "concept",   "const",    "constexpr", "continue",
    "decltype", "default",  "delete", "do",      "double",    "else",     "enum",      "explicit",
    "export",   "extern",   "false",  "float",   "for",       "friend",   "goto",      "if",
    "inline",   "int",      "long",   "mutable", "namespace", "new",      "noexcept",  "not",
    "nullptr",  "operator", "or",     "private", "protected", "public",   "register",  "requires",
    "restrict", "return",   "short",  "signed",  "sizeof",    "static",   "struct",    "switch",
    "template", "this",     "throw",  "true",    "try",       "typedef",  "typeid",    "typename",
    "union",    "unsigned", "using",  "virtual", "void",      "volatile", "while",     "xor"};

// Names of fields, each once in its struct.
class FieldNames {
 public:
  // The name for `text`, or `otherwise` if that is empty; with `suffix` it is free as well.
  std::string Add(absl::string_view text, absl::string_view otherwise, absl::string_view suffix) {
    const std::string name = CIdentifier(text.empty() ? otherwise : text);
    std::string unique = name;
    for (int i = 2; taken_.count(unique) > 0 || taken_.count(absl::StrCat(unique, suffix)) > 0;
         ++i) {
      unique = absl::StrCat(name, "_", i);
    }
    taken_.insert(unique);
    taken_.insert(absl::StrCat(unique, suffix));
    return unique;
  }

 private:
  std::set<std::string> taken_;
};

// The type of C of the elements. A pair of numbers is a complex one, and a byte two of 4 bits.
absl::string_view ElementType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return "float";
    case DType::kF64:
    case DType::kC128:
      return "double";
    case DType::kI8:
      return "int8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
    case DType::kC32:
      return "uint16_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kU64:
      return "uint64_t";
    default:
      return "uint8_t";
  }
}

// Any text as a comment of C behind a declaration.
std::string Comment(absl::string_view text) {
  return absl::StrCat("/* ", absl::StrReplaceAll(Printable(text), {{"*/", "* /"}, {"\\", "?"}}),
                      " */");
}

struct Field {
  std::string name;
  Type type;
  bool written = false;  // An input that gets a new value.
  bool read = true;      // False: an input that the plan has no use for.
};

// What the function takes and gives.
struct Signature {
  std::vector<std::pair<std::string, SymInt>> sizes;  // Fields and symbols.
  std::vector<Field> inputs, outputs;
};

absl::Status CheckType(Type type, absl::string_view name) {
  if (type.is_tensor() || type.is_symint()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("\"", name, "\" is ", type.ToString(), ", which has no type of C"));
}

absl::StatusOr<Signature> SignatureOf(const Plan& plan,
                                      absl::Span<const std::string> output_names) {
  Signature signature;
  FieldNames sizes, inputs, outputs;
  std::set<std::string> known;
  const auto add_symbol = [&](SymInt symbol) {
    const std::string name(symbol.name());
    if (known.insert(name).second) signature.sizes.push_back({sizes.Add(name, "", ""), symbol});
  };
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanInput& input = plan.inputs[i];
    WEFT_RETURN_IF_ERROR(CheckType(input.type, input.name));
    const auto& written = plan.write_backs;
    const bool is_written =
        std::find(written.begin(), written.end(), static_cast<int>(i)) != written.end();
    signature.inputs.push_back({inputs.Add(input.name, absl::StrCat("input_", i), ""), input.type,
                                is_written, input.read});
    if (input.type.is_symint()) ForEachSymbol(input.type.symint(), add_symbol);
    if (!input.type.is_tensor()) continue;
    for (const SymInt dim : input.type.dims()) ForEachSymbol(dim, add_symbol);
  }
  const size_t own = plan.outputs.size() - plan.write_backs.size();
  for (size_t i = 0; i < own; ++i) {
    const std::string name = i < output_names.size() ? output_names[i] : "";
    WEFT_RETURN_IF_ERROR(CheckType(plan.outputs[i], name));
    signature.outputs.push_back(
        {outputs.Add(name, absl::StrCat("output_", i), "_dims"), plan.outputs[i]});
  }
  return signature;
}

// Whether the caller gives a pointer: sizes are given by their symbols.
bool HasPointer(const Field& field) {
  return field.type.is_tensor() && (field.read || field.written);
}

// "typedef struct mlp_sizes {...} mlp_sizes;"; "" without fields, which C does not have.
std::string StructText(absl::string_view name, absl::string_view suffix,
                       const std::vector<std::string>& fields) {
  if (fields.empty()) return "";
  return absl::StrCat("typedef struct ", name, suffix, " {\n  ", absl::StrJoin(fields, "\n  "),
                      "\n} ", name, suffix, ";\n\n");
}

std::string SizesText(absl::string_view name, const Signature& signature) {
  std::vector<std::string> fields;
  for (const auto& [field, symbol] : signature.sizes) {
    fields.push_back(absl::StrCat("int64_t ", field, "; ", Comment(symbol.ToString())));
  }
  return StructText(name, "_sizes", fields);
}

std::string InputsText(absl::string_view name, const Signature& signature) {
  std::vector<std::string> fields;
  for (const Field& input : signature.inputs) {
    if (!HasPointer(input)) continue;
    fields.push_back(absl::StrCat(input.written ? "" : "const ", ElementType(input.type.dtype()),
                                  "* ", input.name, "; ", Comment(input.type.ToString()),
                                  input.written ? " /* Gets the new value. */" : ""));
  }
  return StructText(name, "_inputs", fields);
}

std::string OutputsText(absl::string_view name, const Signature& signature) {
  std::vector<std::string> fields;
  for (const Field& output : signature.outputs) {
    const std::string comment = Comment(output.type.ToString());
    if (!HasPointer(output)) {
      fields.push_back(absl::StrCat("int64_t ", output.name, "; ", comment));
      continue;
    }
    fields.push_back(
        absl::StrCat("const ", ElementType(output.type.dtype()), "* ", output.name, "; ", comment));
    if (output.type.rank() == 0) continue;
    fields.push_back(absl::StrCat("int64_t ", output.name, "_dims[", output.type.rank(), "];"));
  }
  return StructText(name, "_outputs", fields);
}

// The parameters of the function that runs the model, without those of structs without fields.
std::string RunParameters(absl::string_view name, const Signature& signature) {
  std::vector<std::string> parameters = {absl::StrCat(name, "* model")};
  if (!signature.sizes.empty()) parameters.push_back(absl::StrCat("const ", name, "_sizes* sizes"));
  if (absl::c_any_of(signature.inputs, HasPointer)) {
    parameters.push_back(absl::StrCat("const ", name, "_inputs* inputs"));
  }
  if (!signature.outputs.empty()) parameters.push_back(absl::StrCat(name, "_outputs* outputs"));
  return absl::StrJoin(parameters, ", ");
}

std::string TypeTable(absl::string_view name, const std::vector<Field>& fields) {
  const auto literal = [](std::string* out, const Field& field) {
    out->append(Literal(field.type.ToString()));
  };
  return absl::StrCat("constexpr const char* ", name, "[] = {",
                      absl::StrJoin(fields, ", ", literal), fields.empty() ? "" : ", ",
                      "nullptr};\n");
}

// The symbols, and the types that the file's plan has to have.
std::string TablesText(const Signature& signature) {
  std::string symbols;
  for (const auto& [field, symbol] : signature.sizes) {
    absl::StrAppend(&symbols, Literal(symbol.name()), ", ");
  }
  return absl::StrCat("namespace {\n\nconstexpr const char* kSymbols[] = {", symbols, "nullptr};\n",
                      TypeTable("kInputs", signature.inputs),
                      TypeTable("kOutputs", signature.outputs), "\n}  // namespace\n");
}

// The function that runs the model.
std::string RunText(absl::string_view name, const Signature& signature) {
  std::string values, data, results, null = "model == nullptr";
  for (const auto& [field, symbol] : signature.sizes) {
    absl::StrAppend(&values, "sizes->", field, ", ");
  }
  for (const Field& input : signature.inputs) {
    absl::StrAppend(&data, HasPointer(input) ? absl::StrCat("inputs->", input.name) : "kNotRead",
                    ", ");
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const Field& output = signature.outputs[i];
    const std::string tensor = absl::StrCat("model->outputs[", i, "]");
    const std::string field = absl::StrCat("  outputs->", output.name);
    if (!HasPointer(output)) {
      absl::StrAppend(&results, field, " = ", tensor, ".IntAt(0);\n");
      continue;
    }
    absl::StrAppend(&results, field, " = ", tensor, ".data<const ",
                    ElementType(output.type.dtype()), ">();\n");
    if (output.type.rank() == 0) continue;
    absl::StrAppend(&results, "  std::copy(", tensor, ".dims().begin(), ", tensor, ".dims().end(),",
                    field, "_dims);\n");
  }
  const std::string parameters = RunParameters(name, signature);
  for (const char* argument : {"sizes", "inputs", "outputs"}) {
    if (absl::StrContains(parameters, absl::StrCat("* ", argument))) {
      absl::StrAppend(&null, " || ", argument, " == nullptr");
    }
  }
  return absl::StrCat("int ", name, "_run(", parameters, ") {\n  if (", null, ") {\n",
                      "    return Report(absl::InvalidArgumentError(\"", name,
                      "_run: an argument is null\"));\n  }\n  const int64_t values[] = {", values,
                      "0};\n  const void* const data[] = {", data,
                      "nullptr};\n  const int failed = RunModel(model, values, data);\n",
                      "  if (failed != 0) return failed;\n", results, "  return 0;\n}\n");
}

// The condition under which a compiler makes code for the instruction set, and flags for it.
struct SetFlags {
  const char* condition;
  std::string flags;
};
SetFlags FlagsOf(const CcTarget& cc) {
  switch (cc.isa) {
    case CcTarget::Isa::kAvx512:
      return {
          "defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && "
          "defined(__AVX512VL__)",
          "-march=x86-64-v4 -mprefer-vector-width=512"};
    case CcTarget::Isa::kAvx2:
      return {"defined(__AVX2__) && defined(__FMA__)", "-march=x86-64-v3"};
    case CcTarget::Isa::kGeneric:
      break;
  }
  return {"1", ""};
}

struct Section {
  SetFlags set;
  std::string kernels;
};

// The kernels for the widest set that the flags allow, because that is the one whose plan the
// program runs on a machine for which these flags are right.
absl::StatusOr<std::string> KernelsText(absl::Span<const PlanForSet> plans, absl::string_view name,
                                        std::string* commands) {
  std::vector<Section> sections;
  for (const PlanForSet& plan : plans) {
    const CcTarget cc = CcTargetFor(plan);
    WEFT_ASSIGN_OR_RETURN(std::string kernels, MakeKernelSource(plan, absl::StrCat(name, "_k"),
                                                                absl::StrCat(name, "_code")));
    sections.push_back({FlagsOf(cc), std::move(kernels)});
  }
  // Plans come with the set that most machines have first.
  std::reverse(sections.begin(), sections.end());
  std::string text, advice;
  for (const Section& section : sections) {
    absl::StrAppend(&text, text.empty() ? "#if " : "#elif ", section.set.condition, "\n",
                    section.kernels);
    absl::StrAppend(commands, "//   c++ -std=c++17 -O3 ", section.set.flags, " -c ", name, ".cc\n");
    absl::StrAppend(&advice, advice.empty() ? "" : " or ", section.set.flags);
  }
  absl::StrAppend(&text, "#else\n#error \"", name, ".cc: compile it with ", advice, "\"\n#endif\n");
  return text;
}

}  // namespace

std::string CIdentifier(absl::string_view text) {
  std::string name;
  for (const char c : text) name.push_back(absl::ascii_isalnum(c) ? c : '_');
  // Names with an underscore in front may be the compiler's.
  if (name.empty() || !absl::ascii_isalpha(name[0])) name.insert(0, "t");
  const auto is_word = [&](const char* word) { return name == word; };
  if (absl::c_any_of(kWords, is_word)) name.push_back('_');
  return name;
}

absl::StatusOr<ModelSource> MakeModelSource(absl::Span<const PlanForSet> plans,
                                            absl::string_view name,
                                            absl::Span<const std::string> output_names) {
  WEFT_ASSIGN_OR_RETURN(const Signature signature, SignatureOf(*plans[0].plan, output_names));
  std::string commands;
  WEFT_ASSIGN_OR_RETURN(const std::string kernels, KernelsText(plans, name, &commands));
  const std::string upper = absl::AsciiStrToUpper(name);
  const auto filled = [&](absl::string_view text) {
    return absl::StrReplaceAll(
        text, {{"$NAME", name},
               {"$UPPER", upper},
               {"$ENTRY", kModelEntrySymbol},
               {"$HEADER", absl::StrCat("\"", name, ".h\"")},
               {"$COMMANDS", commands},
               {"$STRUCTS", absl::StrCat(SizesText(name, signature), InputsText(name, signature),
                                         OutputsText(name, signature))},
               {"$PARAMETERS", RunParameters(name, signature)},
               {"$TABLES", TablesText(signature)},
               {"$RUN", RunText(name, signature)},
               {"$FILE", FileSource(absl::StrCat(upper, "_FILE"), absl::StrCat(name, "_file"))},
               {"$VERSION", absl::StrCat(kModelEntryVersion)}});
  };
  return ModelSource{filled(kModelHeaderText),
                     absl::StrCat(filled(kModelProgramText), kernels, filled(kModelTablesText))};
}

absl::StatusOr<std::shared_ptr<const ModelLibrary>> LoadModelSource(const std::string& path,
                                                                    const PlanForSet& plan,
                                                                    const std::string& compiler) {
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  const std::string object = absl::StrCat(folder.path(), "/kernels.so");
  const std::string stem(absl::StripSuffix(path.substr(path.rfind('/') + 1), ".cc"));
  std::vector<std::string> command = {compiler, "-std=c++17", "-O3"};
  for (const absl::string_view flag :
       absl::StrSplit(FlagsOf(CcTargetFor(plan)).flags, ' ', absl::SkipEmpty())) {
    command.emplace_back(flag);
  }
  command.insert(command.end(), {"-fwrapv", "-fPIC", "-shared",
                                 absl::StrCat("-D", absl::AsciiStrToUpper(stem), "_KERNELS_ALONE"),
                                 "-o", object, path});
  if (LoadSleef()) command.push_back("-l:libsleef.so.3");
  WEFT_RETURN_IF_ERROR(RunProgram(command));
  return ModelLibrary::Open(object);
}

}  // namespace weft::cpu
