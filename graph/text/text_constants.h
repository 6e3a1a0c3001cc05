// Reads constants: literals in place and the `constants` block.
#ifndef WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_
#define WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_reader.h"
#include "graph/text/text_content.h"

namespace weft {
class ConstantStore;
}  // namespace weft

namespace weft::text {

class ConstantsReader {
 public:
  // A parsed mention of a constant whose type is not known yet.
  struct Reference {
    size_t begin = 0;
    std::string label;    // The label in @label.
    std::string name;     // The name in `"name" dense<...>`.
    size_t elements = 0;  // Offset of the text in dense<>; 0 for a label.
  };

  ConstantsReader(TextReader* reader, absl::string_view filename, ConstantStore* store)
      : reader_(*reader), filename_(filename), store_(*store) {}

  // Sets where constants come from that the text mentions by content id; without it they are an
  // error. The source outlives the reader.
  void set_source(const ContentSource* source) { source_ = source; }
  // Sets where to search for an unknown label: in the `constants` blocks from that offset on. The
  // offset must be outside of all braces.
  void set_look_ahead(size_t position) { look_ahead_ = position; }

  // Reads a block; the token must be `constants`.
  bool ParseBlock();
  bool ParseReference(Reference* out);
  // Adds the tensor to the store. `type` is the written type, or Type() if none is written.
  bool Resolve(const Reference& reference, Type type, int* id);

 private:
  struct Labeled {
    HostTensor tensor;
    std::string name;
    int id = -1;  // Id in the store, once it is referred to.
  };

  bool ParseBlock(TextReader* reader);
  bool ParseEntry(TextReader* reader);
  bool ParseContents(TextReader* reader, Type type, HostTensor* out);
  bool ParseContent(TextReader* reader, Type type, HostTensor* out);
  bool LookAhead();

  TextReader& reader_;
  std::string filename_;
  ConstantStore& store_;
  const ContentSource* source_ = nullptr;
  size_t look_ahead_ = 0;
  bool looked_ahead_ = false;
  absl::flat_hash_map<std::string, Labeled> labeled_;
  absl::flat_hash_map<size_t, size_t> known_blocks_;  // End of each known block by its begin.
};

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_TEXT_CONSTANTS_H_
