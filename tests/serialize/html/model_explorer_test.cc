// Model Explorer's JSON: the fields that its format has, with the right types, and
// references that lead somewhere.
#include "serialize/html/model_explorer.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/serialize/html/view_text.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Json Emit(const Module& module) {
  ModuleViewBuilder builder("model.onnx");
  EXPECT_TRUE(builder.AddSnapshot(module, "import", "").ok());
  return Json::parse(ToModelExplorer(builder.view()));
}

void CheckKeyValues(const Json& list) {
  ASSERT_TRUE(list.is_array());
  for (const Json& item : list) {
    EXPECT_EQ(item.size(), 2u);
    EXPECT_TRUE(item.at("key").is_string());
    EXPECT_TRUE(item.at("value").is_string());
  }
}

void CheckNode(const Json& node, const std::set<std::string>& graphs,
               const std::map<std::string, int>& outputs) {
  static const auto& known = *new std::set<std::string>{
      "id", "label", "namespace", "subgraphIds", "attrs", "incomingEdges", "outputsMetadata"};
  for (const auto& [name, value] : node.items()) EXPECT_EQ(known.count(name), 1u) << name;
  EXPECT_TRUE(node.at("label").is_string());
  EXPECT_TRUE(node.at("namespace").is_string());
  CheckKeyValues(node.at("attrs"));
  if (node.contains("subgraphIds")) {
    for (const Json& id : node["subgraphIds"]) EXPECT_EQ(graphs.count(id), 1u) << id;
  }
  for (const Json& edge : node.at("incomingEdges")) {
    const std::string source = edge.at("sourceNodeId");
    ASSERT_EQ(outputs.count(source), 1u) << source;
    EXPECT_LT(std::stoi(edge.at("sourceNodeOutputId").get<std::string>()), outputs.at(source));
    EXPECT_TRUE(edge.at("targetNodeInputId").is_string());
  }
  if (!node.contains("outputsMetadata")) return;
  for (const Json& output : node["outputsMetadata"]) {
    EXPECT_TRUE(output.at("id").is_string());
    CheckKeyValues(output.at("attrs"));
  }
}

void CheckCollection(const Json& collection) {
  EXPECT_EQ(collection.at("label"), "model.onnx");
  std::set<std::string> graphs;
  for (const Json& graph : collection.at("graphs")) {
    EXPECT_TRUE(graphs.insert(graph.at("id")).second);
  }
  for (const Json& graph : collection["graphs"]) {
    std::map<std::string, int> outputs;
    for (const Json& node : graph.at("nodes")) {
      const int n = node.contains("outputsMetadata") ? node["outputsMetadata"].size() : 0;
      EXPECT_TRUE(outputs.emplace(node.at("id"), n).second) << node["id"];
    }
    for (const Json& node : graph["nodes"]) CheckNode(node, graphs, outputs);
  }
}

constexpr char kModel[] = R"(
func @main(%p: bool[], %x: f32[2, 3]) -> f32[2, 3] {
  %0, %1 = topk(%x, k=2, dim=-1) loc("enc/layer.0/TopK")
  %2 = cond(%p, %x) : f32[2, 3] loc("enc/If") {
    then_graph(%a: f32[2, 3]) {
      %0 = sin(%a)
      return %0
    }
    else_graph(%a: f32[2, 3]) {
      return %a
    }
  }
  return %2
}
)";

TEST(ModelExplorer, HasTheFormatsFields) {
  const Json collection = Emit(*ParseText(kModel));
  CheckCollection(collection);
  ASSERT_EQ(collection["graphs"].size(), 3u);
  EXPECT_EQ(collection["graphs"][0]["id"], "main");
  EXPECT_EQ(collection["graphs"][1]["id"], "main/2:then_graph");
  const Json& nodes = collection["graphs"][0]["nodes"];
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0]["label"], "p");
  EXPECT_EQ(nodes[2]["label"], "topk");
  EXPECT_EQ(nodes[2]["namespace"], "enc/layer.0");
  ASSERT_EQ(nodes[2]["outputsMetadata"].size(), 2u);
  EXPECT_EQ(nodes[2]["outputsMetadata"][0]["attrs"][0]["value"], "f32[2, 2]");
  EXPECT_EQ(nodes[2]["outputsMetadata"][1]["attrs"][0]["value"], "i64[2, 2]");
  EXPECT_EQ(nodes[3]["namespace"], "enc");
  EXPECT_EQ(nodes[3]["subgraphIds"], Json({"main/2:then_graph", "main/2:else_graph"}));
  EXPECT_EQ(nodes[3]["incomingEdges"][1]["sourceNodeId"], nodes[1]["id"]);
  EXPECT_EQ(nodes[4]["label"], "return");
}

TEST(ModelExplorer, LargeModules) {
  const Json collection = Emit(*MakeChain(3000));
  CheckCollection(collection);
  const Json& nodes = collection["graphs"][0]["nodes"];
  ASSERT_EQ(nodes.size(), 3002u);
  EXPECT_EQ(nodes[1234]["namespace"], "stage.1/layer.24");
}

TEST(ModelExplorer, NamesAreText) {
  auto module = MakeChain(1);
  module->main()->first_node()->set_provenance(
      module->provenance().Leaf("a\"b\\\n\xff</script>/c"));
  const Json collection = Emit(*module);
  EXPECT_EQ(collection["graphs"][0]["nodes"][1]["namespace"], "a\"b\\\n\xef\xbf\xbd</script>");
}

}  // namespace
}  // namespace weft
