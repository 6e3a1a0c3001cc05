// One HTML file with a module, its snapshots and the viewer for them. It opens
// offline: its policy forbids every request, and it has no reason for one.
#ifndef WEFT_SERIALIZE_HTML_HTML_H_
#define WEFT_SERIALIZE_HTML_HTML_H_

#include <string>

#include "serialize/html/module_view.h"

namespace weft {

// The same bytes for the same view. Names are data: they come into the page as JSON
// without '<', and the viewer shows them as text alone.
std::string ToHtml(const ModuleView& view);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_HTML_H_
