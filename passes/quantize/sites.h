// The places of a graph that are to be quantized, by the groups that share their parameters.
//
// Places of one graph whose notes (note.h) name one group share their parameters; without a group,
// the places of one value with equal specs do.
#ifndef WEFT_PASSES_QUANTIZE_SITES_H_
#define WEFT_PASSES_QUANTIZE_SITES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/quantize/note.h"
#include "passes/quantize/spec.h"

namespace weft {

class FunctionGraphs;
class Graph;
class HostTensor;
class Node;
class Value;

// The key of the notes with which preparation says what observes a place: the name of the
// function's input that holds the state. Nested graphs have inputs of that name, too.
inline constexpr absl::string_view kObserverKey = "observer";

// A QuantPlace and the value that it had when it was collected: conversion replaces operands.
struct QuantSite {
  Value* value = nullptr;
  // Null for all users of the value.
  Node* user = nullptr;
  int operand = -1;
  // The tensor that the value has in every run: a constant, the initial value of an input that the
  // program does not write, or what a nested graph captures of these; null for other values.
  const HostTensor* weight = nullptr;
  // There is no such tensor yet, but the value is computed from weights alone.
  bool computed = false;
};

struct SiteGroup {
  QuantSpec spec;
  // Name of the input with the state; empty without one.
  std::string observer;
  std::vector<QuantSite> sites;
};

// In the order of the graph: inputs, then for each node its operands and its results. Without
// `function`, which the graph belongs to, what it captures counts as no weight. Errors name the
// node: a note that does not parse, and sites of one group with different specs (both are named).
absl::StatusOr<std::vector<SiteGroup>> CollectSites(const Graph& graph,
                                                    const FunctionGraphs* function = nullptr);

// Whether a calibration gives the parameters. Extrema of a computed weight need none: they follow
// from the weights of the run.
bool NeedsObserver(const SiteGroup& group);
// Whether the parameters are computed in the program from weights.
bool ComputesParams(const SiteGroup& group);

// An error unless all sites of a group with computed parameters have one value.
absl::Status CheckOneWeight(const SiteGroup& group);

// As of the place, for messages.
std::string ToString(const QuantSite& site);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_SITES_H_
