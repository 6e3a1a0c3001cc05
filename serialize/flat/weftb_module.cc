#include "serialize/flat/weftb_module.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/hash.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text_content.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_constants.h"
#include "serialize/flat/weftb_file.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Module>> ReadModule(const WeftbFile& file,
                                                   const OpRegistry& registry) {
  WEFT_ASSIGN_OR_RETURN(const absl::string_view text, file.Text(file.contents().graph));
  WeftbConstants constants(file);
  const auto find = [&](uint64_t id, Type) { return constants.Find(id); };
  // The parser compares the constants with their ids.
  auto module = ParseModuleByContent(text, registry, find, absl::StrCat(file.name(), ", graph"));
  WEFT_RETURN_IF_ERROR(constants.status());
  return module;
}

}  // namespace

absl::Status AddModuleToWeftb(const Module& module, const WeftbModuleOptions& options,
                              WeftbBuilder* builder) {
  PrintOptions print;
  print.locations = options.locations;
  ContentText text = PrintModuleByContent(module, print);
  for (const ContentText::Constant& constant : text.constants) {
    WEFT_RETURN_IF_ERROR(
        builder->AddConstant(constant.id, module.constants().tensor(constant.index)));
  }
  builder->SetGraph(std::move(text.text));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Module>> ReadModuleFromWeftb(const WeftbFile& file,
                                                            const OpRegistry& registry) {
  if (file.contents().graph < 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        file.name(), ": the file has no graph, only plans (it was written with --strip=graph)"));
  }
  auto module = CatchOutOfMemory([&] { return ReadModule(file, registry); });
  if (absl::IsResourceExhausted(module.status()) &&
      !absl::StrContains(module.status().message(), file.name())) {
    return Annotate(module.status(), file.name());
  }
  return module;
}

uint64_t HashModuleText(const Module& module) { return Fnv1a(PrintModuleByContent(module).text); }

}  // namespace weft
