#include "serialize/html/html.h"

#include "absl/strings/str_cat.h"
#include "serialize/html/view_json.h"
#include "serialize/html/viewer_page.h"

namespace weft {

std::string ToHtml(const ModuleView& view) {
  // kViewerHead ends inside the data element, where kViewerTail begins.
  return absl::StrCat(kViewerHead, ViewJson(view), kViewerTail);
}

}  // namespace weft
