// Scopes: the hierarchy in the names of source nodes.
//
// A name with slashes has its scopes between them ("encoder/layer.0/attn/MatMul"). Another name has
// them between its dots, where a number belongs to the word before it
// ("encoder.layer.0.attn.linear" is in encoder, layer.0, attn; "add.1" is in no scope). The last
// part is the node's own name.
#ifndef WEFT_SERIALIZE_HTML_SCOPES_H_
#define WEFT_SERIALIZE_HTML_SCOPES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "serialize/html/string_table.h"

namespace weft {

// The scopes of a name, the outermost first; at most kMaxScopeDepth, of which the last takes the
// rest.
inline constexpr size_t kMaxScopeDepth = 24;
std::vector<std::string> SplitScopes(absl::string_view name);

// A tree of scopes; 0 is its root, and parents have smaller ids.
class ScopeTree {
 public:
  struct Scope {
    int parent = -1;
    int name = -1;  // Index in the strings.
    int depth = 0;
  };

  explicit ScopeTree(StringTable* strings) : strings_(strings), scopes_(1) {}

  // The scope of a source name.
  int Of(absl::string_view name);
  int Child(int parent, int name);
  // The innermost scope that encloses both.
  int Common(int a, int b) const;
  // `scope` relative to `base`, which encloses it.
  int Relative(int scope, int base);
  const std::vector<Scope>& scopes() const { return scopes_; }
  // Names from the outermost on, joined by slashes; slashes inside of a name become underscores. ""
  // for the root.
  std::string Path(int scope) const;

 private:
  StringTable* strings_;
  std::vector<Scope> scopes_;
  absl::flat_hash_map<std::pair<int, int>, int> children_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_SCOPES_H_
