// Shared by tests of pictures.
#ifndef WEFT_TESTS_SERIALIZE_HTML_VIEW_TEXT_H_
#define WEFT_TESTS_SERIALIZE_HTML_VIEW_TEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "serialize/html/module_view.h"

namespace weft {

class Module;

std::unique_ptr<Module> ParseText(absl::string_view text);

// Everything that snapshot `i` says, a line for each node, without the numbers that
// depend on the snapshots before it.
std::vector<std::string> LinesAt(const ModuleView& view, int i);

// The same of a view that has seen the module as it is now and nothing else.
std::vector<std::string> LinesOf(const Module& module);

// A chain of `n` nodes in two levels of scopes, with an operand from further up.
std::unique_ptr<Module> MakeChain(int n);

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_HTML_VIEW_TEXT_H_
