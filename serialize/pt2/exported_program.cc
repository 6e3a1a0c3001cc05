#include "serialize/pt2/exported_program.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serialize/pt2/json_reader.h"
#include "serialize/pt2/program_reader.h"

namespace weft::pt2 {
namespace {

// Supported versions: PyTorch 2.1 wrote 2, later versions 8 (since 2.5). The differences are
// handled, as are keys that only some versions have.
constexpr int64_t kOldestMajor = 2;
constexpr int64_t kSchemaMajor = 8;

struct NamedDType {
  int64_t number;
  const char* name;
  std::optional<DType> dtype;
};

// torch._export.serde.schema.ScalarType.
constexpr NamedDType kDTypes[] = {
    {1, "BYTE", DType::kU8},
    {2, "CHAR", DType::kI8},
    {3, "SHORT", DType::kI16},
    {4, "INT", DType::kI32},
    {5, "LONG", DType::kI64},
    {6, "HALF", DType::kF16},
    {7, "FLOAT", DType::kF32},
    {8, "DOUBLE", DType::kF64},
    {9, "COMPLEXHALF", DType::kC32},
    {10, "COMPLEXFLOAT", DType::kC64},
    {11, "COMPLEXDOUBLE", DType::kC128},
    {12, "BOOL", DType::kBool},
    {13, "BFLOAT16", DType::kBF16},
    {28, "UINT16", DType::kU16},
    {29, "FLOAT8E4M3FN", DType::kF8E4M3},
    {30, "FLOAT8E5M2", DType::kF8E5M2},
    {31, "FLOAT8E4M3FNUZ", DType::kF8E4M3FNUZ},
    {32, "FLOAT8E5M2FNUZ", DType::kF8E5M2FNUZ},
    {33, "FLOAT8E8M0FNU", DType::kF8E8M0},
    {34, "UINT32", DType::kU32},
    {35, "UINT64", DType::kU64},
};

const NamedDType* FindDType(int64_t number) {
  for (const NamedDType& d : kDTypes) {
    if (d.number == number) return &d;
  }
  return nullptr;
}

void ReadSignature(ProgramReader& r, const Place& at, ExportedProgram* program) {
  r.json().ForEach(at["input_specs"],
                   [&](const Place& spec) { program->inputs.push_back(r.ReadInputSpec(spec)); });
  r.json().ForEach(at["output_specs"],
                   [&](const Place& spec) { program->outputs.push_back(r.ReadOutputSpec(spec)); });
}

// The first entry is the whole module; others are submodules.
void ReadCalls(JsonReader& json, const Place& at, ExportedProgram* program) {
  for (size_t i = 0; i < at.size() && json.ok(); ++i) {
    const Place entry = at.at(i);
    if (!json.IsObject(entry) || !json.String(entry["fqn"]).empty()) continue;
    const Place signature = entry["signature"];
    if (!signature.present()) return;
    program->in_spec = json.String(signature["in_spec"]);
    program->out_spec = json.String(signature["out_spec"]);
    const Place names = signature["forward_arg_names"];
    if (!names.present()) return;
    json.ForEach(names,
                 [&](const Place& name) { program->argument_names.push_back(json.String(name)); });
    return;
  }
}

void ReadRanges(JsonReader& json, const Place& at, ExportedProgram* program) {
  if (!at.present()) return;
  json.ForEachMember(at, [&](const std::string& expr, const Place& range) {
    RangeConstraint constraint;
    constraint.expr = expr;
    // An infinite bound is null; old files have a very large number instead.
    constexpr int64_t kLimit = int64_t{1} << 62;
    const auto bound = [&](absl::string_view name) -> std::optional<int64_t> {
      const Place place = range[name];
      if (!place.present()) return std::nullopt;
      if (place.json()->is_number_float() || place.json()->is_string()) {
        return std::nullopt;
      }
      const int64_t value = json.Int(place);
      if (value >= kLimit || value <= -kLimit) return std::nullopt;
      return value;
    };
    constraint.min = bound("min_val");
    constraint.max = bound("max_val");
    program->ranges.push_back(std::move(constraint));
  });
}

void ReadVersion(JsonReader& json, const Place& root, ExportedProgram* program) {
  const Place version = root["schema_version"];
  if (!json.IsObject(version)) return;
  program->schema_major = json.Int(version["major"]);
  program->schema_minor = json.Int(version["minor"]);
  if (program->schema_major < kOldestMajor || program->schema_major > kSchemaMajor) {
    json.Unsupported(version, absl::StrCat("the file has schema version ", program->schema_major,
                                           ".", program->schema_minor, "; versions ", kOldestMajor,
                                           ".x to ", kSchemaMajor, ".x are read"));
  }
}

}  // namespace

std::optional<DType> DTypeFromNumber(int64_t number) {
  const NamedDType* d = FindDType(number);
  return d == nullptr ? std::nullopt : d->dtype;
}

std::string DTypeNumberName(int64_t number) {
  const NamedDType* d = FindDType(number);
  return d == nullptr ? absl::StrCat("dtype ", number) : d->name;
}

absl::StatusOr<ExportedProgram> ParseExportedProgram(absl::string_view text,
                                                     const std::string& file,
                                                     const JsonLimits& limits) {
  WEFT_ASSIGN_OR_RETURN(const Json document,
                        ParseJson(text, file, limits.max_depth, limits.max_bytes));
  JsonReader json(file);
  ProgramReader reader(&json);
  ExportedProgram program;
  const Place root(&document);
  ReadVersion(json, root, &program);
  WEFT_RETURN_IF_ERROR(json.status());
  const Place module = root["graph_module"];
  const Place graph = module["graph"];
  program.graph = reader.ReadGraph(graph);
  ReadSignature(reader, module["signature"], &program);
  ReadCalls(json, module["module_call_graph"], &program);
  ReadRanges(json, root["range_constraints"], &program);
  const Place guards = root["guards_code"];
  for (size_t i = 0; guards.present() && i < guards.size(); ++i) {
    program.guards.push_back(json.String(guards.at(i)));
  }
  if (root["torch_version"].present()) {
    program.torch_version = json.String(root["torch_version"]);
  }
  const Place verifiers = root["verifiers"];
  if (verifiers.size() > 0) program.dialect = json.String(verifiers.at(0));
  const Place dialect = root["dialect"];  // Of older versions.
  if (dialect.present()) program.dialect = json.String(dialect);
  WEFT_RETURN_IF_ERROR(json.status());
  return program;
}

absl::StatusOr<std::map<std::string, Payload>> ParsePayloads(absl::string_view text,
                                                             const std::string& file,
                                                             const JsonLimits& limits) {
  WEFT_ASSIGN_OR_RETURN(const Json document,
                        ParseJson(text, file, limits.max_depth, limits.max_bytes));
  JsonReader json(file);
  ProgramReader reader(&json);
  std::map<std::string, Payload> payloads;
  const Place root(&document);
  const Place config = root["config"];
  json.ForEachMember(config, [&](const std::string& name, const Place& at) {
    Payload payload;
    payload.path = json.String(at["path_name"]);
    const Place is_param = at["is_param"];
    if (is_param.present()) payload.is_parameter = json.Bool(is_param);
    const Place pickled = at["use_pickle"];
    if (pickled.present()) payload.pickled = json.Bool(pickled);
    const Place meta = at["tensor_meta"];
    if (meta.present()) payload.meta = reader.ReadTensorMeta(meta);
    payloads.emplace(name, std::move(payload));
  });
  WEFT_RETURN_IF_ERROR(json.status());
  return payloads;
}

}  // namespace weft::pt2
