// Reads constants: literals in place and the `constants` block.
#ifndef WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_
#define WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_reader.h"

namespace weft {
class ConstantStore;
}  // namespace weft

namespace weft::text {

class ConstantsReader {
 public:
  // What stands for a constant, before its type is known.
  struct Reference {
    size_t begin = 0;
    std::string label;    // Of @label.
    std::string name;     // Of `"name" dense<...>`.
    size_t elements = 0;  // Offset of what dense<> holds; 0 for a label.
  };

  ConstantsReader(TextReader* reader, absl::string_view filename, ConstantStore* store)
      : reader_(*reader), filename_(filename), store_(*store) {}

  // A label that is not known yet is looked for in the `constants` blocks from
  // that offset on, which lies outside of all braces.
  void set_look_ahead(size_t position) { look_ahead_ = position; }

  // The token is `constants`.
  bool ParseBlock();
  bool ParseReference(Reference* out);
  // Puts the tensor in the store. `type` is what is written, or none.
  bool Resolve(const Reference& reference, Type type, int* id);

 private:
  struct Labeled {
    HostTensor tensor;
    std::string name;
    int id = -1;  // In the store, once referred to.
  };

  bool ParseBlock(TextReader* reader);
  bool ParseEntry(TextReader* reader);
  bool ParseContents(TextReader* reader, Type type, HostTensor* out);
  bool LookAhead();

  TextReader& reader_;
  std::string filename_;
  ConstantStore& store_;
  size_t look_ahead_ = 0;
  bool looked_ahead_ = false;
  absl::flat_hash_map<std::string, Labeled> labeled_;
  absl::flat_hash_map<size_t, size_t> known_blocks_;  // Begin to end.
};

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_
