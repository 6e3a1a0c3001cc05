// DOT text, word for word, and SVG with and without Graphviz.
#include "serialize/dot/dot.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::unique_ptr<Module> Parse(absl::string_view text) {
  auto module = ParseModule(text, ops::Registry(), "test");
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return module.ok() ? *std::move(module) : nullptr;
}

constexpr char kScoped[] = R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = sin(%x) loc("encoder/layer.0/Sin")
  %1 = cos(%0) loc("encoder/layer.1/Cos")
  %2 = softmax(%1, dim=0) loc("Softmax")
  return %2
}
)";

TEST(Dot, ClustersAreScopes) {
  EXPECT_EQ(ToDot(*Parse(kScoped)), R"(digraph weft {
  node [shape=box, fontname="monospace"];
  subgraph cluster_0 {
    label="main";
    g0i0 [shape=oval, label="x\nf32[2]"];
    subgraph cluster_1 {
      label="encoder";
      subgraph cluster_2 {
        label="layer.0";
        g0n1 [label="sin\nencoder/layer.0/Sin"];
      }
      subgraph cluster_3 {
        label="layer.1";
        g0n2 [label="cos\nencoder/layer.1/Cos"];
      }
    }
    g0n3 [label="softmax\ndim=0\nSoftmax"];
    g0n4 [shape=oval, label="return"];
  }
  g0i0 -> g0n1 [label="f32[2]"];
  g0n1 -> g0n2 [label="f32[2]"];
  g0n2 -> g0n3 [label="f32[2]"];
  g0n3 -> g0n4 [label="f32[2]"];
}
)");
}

TEST(Dot, ScopesCanBeLeftOut) {
  DotOptions options;
  options.scopes = false;
  const std::string dot = ToDot(*Parse(kScoped), options);
  EXPECT_THAT(dot, AllOf(HasSubstr("subgraph cluster_0"), Not(HasSubstr("subgraph cluster_1"))));
}

TEST(Dot, NestedGraphsStandInTheirNodesScope) {
  EXPECT_EQ(ToDot(*Parse(R"(
func @main(%p: bool[], %x: f32[2]) -> f32[2] {
  %0 = cond(%p, %x) : f32[2] loc("s/Cond") {
    then_graph(%a: f32[2]) {
      %0 = sin(%a)
      return %0
    }
    else_graph(%a: f32[2]) {
      return %a
    }
  }
  return %0
}
)")),
            R"(digraph weft {
  node [shape=box, fontname="monospace"];
  subgraph cluster_0 {
    label="main";
    g0i0 [shape=oval, label="p\nbool[]"];
    g0i1 [shape=oval, label="x\nf32[2]"];
    subgraph cluster_1 {
      label="s";
      g0n1 [label="cond\ns/Cond"];
      subgraph cluster_2 {
        label="cond 1: then_graph";
        g1i0 [shape=oval, label="a\nf32[2]"];
        g1n1 [label="sin"];
        g1n2 [shape=oval, label="return"];
      }
      subgraph cluster_3 {
        label="cond 1: else_graph";
        g2i0 [shape=oval, label="a\nf32[2]"];
        g2n1 [shape=oval, label="return"];
      }
    }
    g0n2 [shape=oval, label="return"];
  }
  g0i0 -> g0n1 [label="bool[]"];
  g0i1 -> g0n1 [label="f32[2]"];
  g0n1 -> g0n2 [label="f32[2]"];
  g1i0 -> g1n1 [label="f32[2]"];
  g1n1 -> g1n2 [label="f32[2]"];
  g1n2 -> g0n1 [style=dashed];
  g2i0 -> g2n1 [label="f32[2]"];
  g2n1 -> g0n1 [style=dashed];
}
)");
}

TEST(Dot, NamesAreText) {
  auto module = Parse(kScoped);
  const Graph& main = *module->main();
  main.first_node()->set_provenance(
      module->provenance().Leaf("a \"b\" \\ \xff \xc3\xa9\n] -> { /x"));
  const std::string dot = ToDot(*module);
  EXPECT_THAT(dot, HasSubstr("label=\"a \\\"b\\\" \\\\ ? \xc3\xa9\\n] -> { \";\n"));
  EXPECT_THAT(dot, Not(HasSubstr("\xff")));
}

TEST(Svg, ComesFromGraphviz) {
  const std::string dot = ToDot(*Parse(kScoped));
  auto svg = DotToSvg(dot);
  if (svg.ok()) {
    EXPECT_THAT(*svg, AllOf(StartsWith("<?xml"), HasSubstr("</svg>"), HasSubstr("Softmax")));
    EXPECT_EQ(*svg, *DotToSvg(dot));
  } else {
    EXPECT_THAT(svg.status().message(), HasSubstr("Debian package graphviz"));
  }
}

TEST(Svg, WithoutGraphvizAnErrorNamesIt) {
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const absl::Status status = DotToSvg("digraph {}").status();
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status.ToString();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("`dot`"), HasSubstr("Debian package graphviz"),
                    HasSubstr("--emit=dot works without it")));
}

TEST(Svg, WhatGraphvizRefusesIsAnError) {
  auto svg = DotToSvg("digraph {");
  EXPECT_FALSE(svg.ok());
}

}  // namespace
}  // namespace weft
