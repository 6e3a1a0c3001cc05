// Names of models as names of files.
#ifndef WEFT_TOOLS_COMMON_FILE_NAMES_H_
#define WEFT_TOOLS_COMMON_FILE_NAMES_H_

#include <string>
#include <vector>

namespace weft::tools {

// A file name, without an ending, for each name; no two are equal, nor equal but for the case of
// letters. A name that can be one is its own; in others '/', control characters and a '.' at the
// begin become '_', and what is too long is cut. "-2", "-3" ... tell apart those that meet.
std::vector<std::string> FileNames(const std::vector<std::string>& names);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_FILE_NAMES_H_
