// Makes file names from names of models.
#ifndef WEFT_TOOLS_COMMON_FILE_NAMES_H_
#define WEFT_TOOLS_COMMON_FILE_NAMES_H_

#include <string>
#include <vector>

namespace weft::tools {

// A file name, without extension, for each name. No two are equal, even if case is ignored. A valid
// name stays unchanged; in others '/', control characters and a leading '.' become '_', and long
// names are cut. "-2", "-3", ... distinguish names that would be equal.
std::vector<std::string> FileNames(const std::vector<std::string>& names);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_FILE_NAMES_H_
