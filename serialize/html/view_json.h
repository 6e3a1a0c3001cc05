// A ModuleView as compact JSON, which the viewer reads (viewer/data.js describes it).
#ifndef WEFT_SERIALIZE_HTML_VIEW_JSON_H_
#define WEFT_SERIALIZE_HTML_VIEW_JSON_H_

#include <string>

#include "serialize/html/module_view.h"

namespace weft {

// One object. Tables are stored by column: {"op": [..], "types": [..], ...}. Rows of the first
// snapshot are numbered in the order of their graphs and places, so they need no list. Sources of
// edges are distances of keys, key - source; 0 for an absent operand. keys.local, rows.key,
// rows.sources and the lists of snapshots hold differences from the element before, which keeps
// sequences short. The text is safe inside a <script> element (json_text.h).
std::string ViewJson(const ModuleView& view);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_VIEW_JSON_H_
