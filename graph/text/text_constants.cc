#include "graph/text/text_constants.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/ir/constant_store.h"

namespace weft::text {

bool ConstantsReader::ParseBlock() {
  auto it = known_blocks_.find(reader_.position());
  if (it == known_blocks_.end()) return ParseBlock(&reader_);
  reader_.Seek(it->second);
  return true;
}

bool ConstantsReader::ParseBlock(TextReader* reader) {
  if (!reader->ExpectWord("constants") || !reader->Expect('{')) return false;
  while (!reader->At('}')) {
    if (!ParseEntry(reader)) return false;
  }
  reader->Advance();
  return true;
}

bool ConstantsReader::ParseEntry(TextReader* reader) {
  const size_t begin = reader->position();
  std::string label;
  Labeled entry;
  Type type;
  if (!reader->ParseSigilName(/*value=*/false, &label) ||
      (reader->At(kString) && !reader->ParseString(&entry.name)) || !reader->Expect(':') ||
      !reader->ParseType(&type) || !reader->Expect('=') ||
      !ParseContents(reader, type, &entry.tensor)) {
    return false;
  }
  if (!labeled_.emplace(label, std::move(entry)).second) {
    return reader->Fail(begin, absl::StrCat("@", label, " is defined twice"));
  }
  return true;
}

bool ConstantsReader::ParseContents(TextReader* reader, Type type, HostTensor* out) {
  if (reader->AtWord("dense")) {
    size_t elements;
    return reader->SkipDense(&elements) && reader->ParseElements(elements, type, out);
  }
  if (reader->AtWord("omitted")) {
    return reader->Fail(reader->position(),
                        "the constants of this text were left out when it was "
                        "printed; it cannot be read back");
  }
  if (reader->AtWord("content")) return ParseContent(reader, type, out);
  if (!reader->AcceptWord("base64")) {
    return reader->Expected("base64\"...\" or dense<...>");
  }
  const size_t begin = reader->position();
  if (!reader->At(kString)) return reader->Expected("a string");
  std::string error;
  auto tensor = DecodeTensor(reader->token().text, type, &error);
  if (!tensor) return reader->Fail(begin, error);
  *out = *std::move(tensor);
  reader->Advance();
  return true;
}

bool ConstantsReader::ParseContent(TextReader* reader, Type type, HostTensor* out) {
  const size_t begin = reader->position();
  reader->Advance();
  const auto id = reader->At(kHex) ? HexToUint64(reader->token().text) : std::optional<uint64_t>();
  if (!id) return reader->Expected("a content id of up to 16 hexadecimal digits");
  const std::string shown = absl::StrCat("0x", absl::Hex(*id, absl::kZeroPad16));
  reader->Advance();
  if (source_ == nullptr) {
    return reader->Fail(begin, absl::StrCat("the data of content ", shown,
                                            " is in another file; this text has its id alone"));
  }
  if (!type.is_tensor() || !type.is_static()) {
    return reader->Fail(begin, "a constant is a tensor of a static shape");
  }
  *out = (*source_)(*id, type);
  if (!out->valid()) {
    return reader->Fail(begin, absl::StrCat("there is no constant of content ", shown));
  }
  if (out->type() == type && out->Fingerprint() == *id) return true;
  return reader->Fail(begin, absl::StrCat("what was given for content ", shown,
                                          " is another tensor, a ", out->type().ToString()));
}

bool ConstantsReader::LookAhead() {
  looked_ahead_ = true;
  TextReader reader(reader_.text(), filename_);
  reader.Seek(look_ahead_);
  int depth = 0;
  while (!reader.At(kEnd)) {
    const size_t begin = reader.position();
    if (depth == 0 && reader.AtWord("constants")) {
      if (!ParseBlock(&reader)) return reader_.Fail(reader.status());
      known_blocks_[begin] = reader.position();
      continue;
    }
    if (reader.At('{')) ++depth;
    if (reader.At('}')) --depth;
    reader.Advance();
  }
  return true;
}

bool ConstantsReader::ParseReference(Reference* out) {
  out->begin = reader_.position();
  if (reader_.At(kGlobal) || reader_.At(kQuotedGlobal)) {
    return reader_.ParseSigilName(/*value=*/false, &out->label);
  }
  if (reader_.At(kString) && !reader_.ParseString(&out->name)) return false;
  if (!reader_.AtWord("dense")) {
    return reader_.Expected("dense<...> or a constant such as @c0");
  }
  return reader_.SkipDense(&out->elements);
}

bool ConstantsReader::Resolve(const Reference& reference, Type type, int* id) {
  const bool written = type.kind() != Type::Kind::kNone;
  if (reference.elements != 0) {
    HostTensor tensor;
    if (!written) {
      return reader_.Fail(reference.begin, "the literal needs a type");
    }
    if (!reader_.ParseElements(reference.elements, type, &tensor)) return false;
    *id = store_.Add(std::move(tensor), reference.name);
    return true;
  }
  auto it = labeled_.find(reference.label);
  if (it == labeled_.end() && !looked_ahead_) {
    if (!LookAhead()) return false;
    it = labeled_.find(reference.label);
  }
  if (it == labeled_.end()) {
    return reader_.Fail(reference.begin, absl::StrCat("no constant is called @", reference.label));
  }
  Labeled& entry = it->second;
  if (entry.id < 0) entry.id = store_.Add(entry.tensor, entry.name);
  *id = entry.id;
  const Type own = entry.tensor.type();
  if (!written || own == type) return true;
  return reader_.Fail(reference.begin, absl::StrCat("@", reference.label, " has type ",
                                                    own.ToString(), ", not ", type.ToString()));
}

}  // namespace weft::text
