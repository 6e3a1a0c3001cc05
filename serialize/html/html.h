// One HTML file with a module, its snapshots and a viewer. It works offline: its policy forbids
// every request, and it makes none.
#ifndef WEFT_SERIALIZE_HTML_HTML_H_
#define WEFT_SERIALIZE_HTML_HTML_H_

#include <string>

#include "serialize/html/module_view.h"

namespace weft {

// The same view gives the same bytes. Names are data: they are JSON without '<' in the page, and
// the viewer shows them only as text.
std::string ToHtml(const ModuleView& view);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_HTML_H_
