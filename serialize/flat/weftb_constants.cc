#include "serialize/flat/weftb_constants.h"

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "serialize/flat/weftb_file.h"

namespace weft {
namespace {

std::string IdText(uint64_t id) { return absl::StrCat("0x", absl::Hex(id, absl::kZeroPad16)); }

}  // namespace

HostTensor WeftbConstants::Find(uint64_t id) {
  const auto known = places_.find(id);
  if (known != places_.end()) return found_[known->second];
  auto constant = file_.Constant(id);
  if (!constant.ok()) {
    // The parser's own message about a missing constant has its place in the text.
    if (!absl::IsNotFound(constant.status())) status_.Update(constant.status());
    return HostTensor();
  }
  places_.emplace(id, ids_.size());
  ids_.push_back(id);
  found_.push_back(*constant);
  return *std::move(constant);
}

absl::Status WeftbConstants::CheckContents(NameOf name) const {
  for (size_t i = 0; i < ids_.size(); ++i) {
    const uint64_t content = found_[i].Fingerprint();
    if (content == ids_[i]) continue;
    const std::string called = name(found_[i]);
    return absl::InvalidArgumentError(
        absl::StrCat(file_.name(), ": constant ", IdText(ids_[i]),
                     called.empty() ? "" : absl::StrCat(" (", PrintableName(called), ")"),
                     " has another content, ", IdText(content)));
  }
  return absl::OkStatus();
}

}  // namespace weft
