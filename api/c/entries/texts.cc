#include "api/c/entries/texts.h"

#include "api/c/entries/entries.h"

namespace weft::c {

const char* TextData(const weft_text* text) { return text == nullptr ? "" : text->value.c_str(); }

size_t TextSize(const weft_text* text) { return text == nullptr ? 0 : text->value.size(); }

void TextDestroy(weft_text* text) { delete text; }

}  // namespace weft::c
