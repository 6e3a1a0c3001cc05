#include "serialize/pt2/pytree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serialize/pt2/json_reader.h"

namespace weft::pt2 {
namespace {

constexpr int kMaxDepth = 96;
constexpr int64_t kMaxBytes = 1 << 26;
constexpr int64_t kTreeVersion = 1;

// Keys of a dict's children; empty for other nodes.
std::vector<std::string> KeysOf(const Place& node, const std::string& type, JsonReader& json) {
  std::vector<std::string> keys;
  const Place context = node["context"];
  const bool is_dict = type == "builtins.dict" || type == "collections.OrderedDict" ||
                       type == "collections.defaultdict";
  if (!is_dict || !context.present()) return keys;
  const Json list = Json::parse(json.String(context), nullptr, false);
  const Json* items = &list;
  // A defaultdict also has its factory.
  if (list.is_array() && list.size() == 2 && list[1].is_array()) {
    items = &list[1];
  }
  if (!items->is_array()) return keys;
  for (const Json& key : *items) {
    keys.push_back(key.is_string() ? key.get<std::string>() : key.dump());
  }
  return keys;
}

// Recursion is bounded by kMaxDepth.
void Collect(const Place& node, const std::string& way, JsonReader& json,
             std::vector<std::string>* leaves) {
  if (!json.IsObject(node)) return;
  const Place type = node["type"];
  if (!type.present()) {
    leaves->push_back(way);
    return;
  }
  const std::vector<std::string> keys = KeysOf(node, json.String(type), json);
  size_t i = 0;
  const Place children = node["children_spec"];
  json.ForEach(children, [&](const Place& child) {
    const std::string name = i < keys.size() ? keys[i] : std::to_string(i);
    ++i;
    Collect(child, way.empty() ? name : absl::StrCat(way, ".", name), json, leaves);
  });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TreeLeaves(const std::string& spec,
                                                    const std::string& file) {
  WEFT_ASSIGN_OR_RETURN(const Json tree, ParseJson(spec, file, kMaxDepth, kMaxBytes));
  JsonReader json(file);
  const Place root(&tree);
  std::vector<std::string> leaves;
  if (!json.IsArray(root) || root.size() != 2) {
    json.Fail(root, "expected a version and a tree");
    return json.status();
  }
  const Place version = root.at(0);
  if (json.Int(version) != kTreeVersion) {
    json.Unsupported(version, "an unknown version of trees");
  }
  const Place tree_root = root.at(1);
  Collect(tree_root, "", json, &leaves);
  WEFT_RETURN_IF_ERROR(json.status());
  return leaves;
}

absl::Status CheckCallSpec(const ExportedProgram& program) {
  if (program.in_spec.empty()) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const auto in, TreeLeaves(program.in_spec, "in_spec"));
  WEFT_ASSIGN_OR_RETURN(const auto out, TreeLeaves(program.out_spec, "out_spec"));
  const auto inputs =
      std::count_if(program.inputs.begin(), program.inputs.end(), [](const InputSpec& s) {
        return s.kind == InputSpec::Kind::kUser || s.kind == InputSpec::Kind::kConstantInput;
      });
  const auto outputs =
      std::count_if(program.outputs.begin(), program.outputs.end(),
                    [](const OutputSpec& s) { return s.kind == OutputSpec::Kind::kUser; });
  if (static_cast<size_t>(inputs) == in.size() && static_cast<size_t>(outputs) == out.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the call has ", in.size(), " arguments and ",
                                                 out.size(), " results, the program ", inputs,
                                                 " and ", outputs));
}

}  // namespace weft::pt2
