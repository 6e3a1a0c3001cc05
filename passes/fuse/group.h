// The inputs and outputs of a group of nodes, and the graphs in which passes look for groups.
#ifndef WEFT_PASSES_FUSE_GROUP_H_
#define WEFT_PASSES_FUSE_GROUP_H_

#include <vector>

#include "passes/fuse/units.h"

namespace weft {

class Graph;
class Module;
class Value;

// What passes that fuse look at: the graphs of the module that are not inside of
// `fused` nodes, outer ones first.
std::vector<Graph*> GraphsToFuse(const Module& module);

// Whether the value is a constant that is copied into the groups that use it.
bool ComesAlong(const Value* value);

// Values that the unit's nodes use and do not make, in the order of their first
// use; constants that come along left out.
std::vector<Value*> InputsOf(const Units& units, int unit);
// Results that others than the unit's nodes use, in order.
std::vector<Value*> OutputsOf(const Units& units, int unit);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_GROUP_H_
