#include "api/weights.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/verify/verifier.h"
#include "serialize/gguf/gguf.h"
#include "serialize/gguf/gguf_weights.h"

namespace weft {

absl::StatusOr<WeightsReport> LoadWeights(const std::string& path, const std::string& names,
                                          Module& module) {
  if (!absl::EndsWith(path, ".gguf")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": unknown kind of weights; .gguf files are read"));
  }
  std::vector<WeightName> rows;
  if (!names.empty()) {
    WEFT_ASSIGN_OR_RETURN(const auto text, HostBuffer::MapFile(names));
    auto parsed = ParseWeightNames(
        {reinterpret_cast<const char*>(text->data()), static_cast<size_t>(text->size())});
    if (!parsed.ok()) return Annotate(parsed.status(), names);
    rows = *std::move(parsed);
  }
  WEFT_ASSIGN_OR_RETURN(const GgufFile file, ReadGguf(path));
  auto loaded = SetWeights(file, rows, module);
  if (!loaded.ok()) return Annotate(loaded.status(), path);
  const absl::Status valid = Verify(module);
  if (!valid.ok()) return Annotate(valid, path);
  return WeightsReport{loaded->parameters, loaded->quantized, std::move(loaded->unused)};
}

}  // namespace weft
