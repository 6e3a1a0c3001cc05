// The layers of the repository as a table, and the check of includes against it.
#ifndef WEFT_TESTS_LAYERING_LAYERS_H_
#define WEFT_TESTS_LAYERING_LAYERS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/layering/source_files.h"

namespace weft {

enum Libraries { kAbseilOnly, kAnyLibrary };

// A layer, or a room of one, is a folder, or the files of one stem (`api/program`); a file belongs
// to the longest matching name. It may include itself and what is listed: `x/...` is x with all
// that is below it.
struct Layer {
  std::string name;
  Libraries libraries;
  std::vector<std::string> may_include;
};

// Each row lists only rows above it.
const std::vector<Layer>& Layers();
// True if the layer lists `name`, by itself or as part of `x/...`.
bool Lists(const Layer& layer, absl::string_view name);

// True if the file belongs to a project that represents programs outside of this tree.
bool IsForeign(absl::string_view path);

// The violations in a set of files, each as `file:line: "include": why`.
std::vector<std::string> Violations(const std::vector<SourceFile>& files);

}  // namespace weft

#endif  // WEFT_TESTS_LAYERING_LAYERS_H_
