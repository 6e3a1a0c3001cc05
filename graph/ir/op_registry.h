// A table of ops by name.
#ifndef WEFT_GRAPH_IR_OP_REGISTRY_H_
#define WEFT_GRAPH_IR_OP_REGISTRY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

class OpDef;

// The operator as which ONNX models have an op of a program's own: {"com.acme", "Swish"}.
struct OnnxName {
  std::string domain;
  std::string type;
};

// InvalidArgument unless the domain has letters, digits and `.-_` alone, the type letters, digits
// and `_`, and the domain is not ONNX's own.
absl::Status CheckOnnxName(const OnnxName& name);

// The set of ops of a program. The built-in set is ops::Registry() (graph/ops/registry.h); an
// embedding program may copy it and add its own ops.
class OpRegistry {
 public:
  // CHECKs that the name is free and the schema parses.
  void Register(const OpDef* op);
  const OpDef* Find(absl::string_view name) const;
  // All ops, sorted by name.
  std::vector<const OpDef*> All() const;

  // Says which operator of ONNX a registered op is. CHECKs that neither has such an entry.
  void NameInOnnx(const OpDef* op, OnnxName name);
  // Null if no op has the name.
  const OpDef* FindInOnnx(absl::string_view domain, absl::string_view type) const;
  const OnnxName* OnnxNameOf(const OpDef& op) const;
  // The types that have an op in a domain, sorted.
  std::vector<std::string> OnnxTypesOf(absl::string_view domain) const;

 private:
  absl::flat_hash_map<absl::string_view, const OpDef*> by_name_;
  std::map<std::pair<std::string, std::string>, const OpDef*> by_onnx_name_;
  absl::flat_hash_map<const OpDef*, OnnxName> onnx_names_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_REGISTRY_H_
