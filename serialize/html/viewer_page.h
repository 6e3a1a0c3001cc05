// The HTML around the data, generated from viewer/ by the build.
#ifndef WEFT_SERIALIZE_HTML_VIEWER_PAGE_H_
#define WEFT_SERIALIZE_HTML_VIEWER_PAGE_H_

namespace weft {

extern const char kViewerHead[];
extern const char kViewerTail[];

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_VIEWER_PAGE_H_
