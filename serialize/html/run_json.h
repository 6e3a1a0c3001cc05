// The part of a view's JSON that comes from a trace and a plan.
#ifndef WEFT_SERIALIZE_HTML_RUN_JSON_H_
#define WEFT_SERIALIZE_HTML_RUN_JSON_H_

#include "serialize/html/json_writer.h"
#include "serialize/html/module_view.h"

namespace weft {

// Appends the members "errors", "runs", "kernels", "timeline" and "plan".
void WriteRun(const ModuleView& view, JsonWriter* out);

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_RUN_JSON_H_
