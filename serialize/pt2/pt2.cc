#include "serialize/pt2/pt2.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/verify/verifier.h"
#include "serialize/pt2/exported_program.h"
#include "serialize/pt2/program_importer.h"
#include "serialize/pt2/weights.h"
#include "serialize/pt2/zip_archive.h"

namespace weft {
namespace {

using pt2::ZipArchive;

absl::string_view Text(const HostBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

// The path before `archive_format`, with its slash: the file's stem, or "".
absl::StatusOr<std::string> FindRoot(const ZipArchive& archive) {
  for (const std::string& name : archive.names()) {
    absl::string_view root = name;
    if (absl::ConsumeSuffix(&root, "archive_format") &&
        (root.empty() || absl::EndsWith(root, "/"))) {
      return std::string(root);
    }
  }
  return absl::InvalidArgumentError("not a .pt2 archive: there is no entry archive_format");
}

// The program in archives from before PyTorch 2.8.
constexpr char kOldProgram[] = "serialized_exported_program.json";

// The path before that, if it exists.
std::optional<std::string> FindOldRoot(const ZipArchive& archive) {
  for (const std::string& name : archive.names()) {
    absl::string_view root = name;
    if (absl::ConsumeSuffix(&root, kOldProgram) && (root.empty() || absl::EndsWith(root, "/"))) {
      return std::string(root);
    }
  }
  return std::nullopt;
}

// The text of a small entry, with surrounding blanks removed.
absl::StatusOr<std::string> ReadText(ZipArchive& archive, const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const auto bytes, archive.Read(name));
  return std::string(absl::StripAsciiWhitespace(Text(*bytes).substr(0, 256)));
}

absl::Status CheckHeader(ZipArchive& archive, const std::string& root) {
  WEFT_ASSIGN_OR_RETURN(const std::string format, ReadText(archive, root + "archive_format"));
  if (format != "pt2") {
    return absl::InvalidArgumentError(
        absl::StrCat(root, "archive_format: expected pt2, got \"", format, "\""));
  }
  if (archive.Has(root + "archive_version")) {
    WEFT_ASSIGN_OR_RETURN(const std::string version, ReadText(archive, root + "archive_version"));
    if (version != "0") {
      return absl::UnimplementedError(
          absl::StrCat(root, "archive_version: version \"", version, "\" is not read"));
    }
  }
  if (!archive.Has(root + "byteorder")) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const std::string order, ReadText(archive, root + "byteorder"));
  if (order == "little") return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(root, "byteorder: \"", order, "\" is not read, only little"));
}

// The requested program, `model`, or the only one.
absl::StatusOr<std::string> FindProgram(const ZipArchive& archive, const std::string& root,
                                        const std::string& wanted) {
  const std::string folder = root + "models/";
  std::vector<std::string> names;
  for (const std::string& file : archive.names()) {
    absl::string_view name = file;
    if (absl::ConsumePrefix(&name, folder) && absl::ConsumeSuffix(&name, ".json")) {
      names.emplace_back(name);
    }
  }
  for (const std::string& name : names) {
    if (name == (wanted.empty() ? "model" : wanted)) return name;
  }
  if (wanted.empty() && names.size() == 1) return names[0];
  return absl::NotFoundError(absl::StrCat(
      "the archive has ", names.empty() ? "no program below models/"
                                        : absl::StrCat("the programs ", absl::StrJoin(names, ", "),
                                                       "; say which one")));
}

// The text of a program and the location of its tensors.
struct Parts {
  std::string path;
  pt2::Weights weights;
};

absl::StatusOr<Parts> FindParts(ZipArchive* archive, const pt2::ZipLimits& zip_limits,
                                const pt2::JsonLimits& json_limits, const std::string& wanted) {
  Parts parts;
  if (const auto root = FindOldRoot(*archive)) {
    parts.path = *root + kOldProgram;
    WEFT_ASSIGN_OR_RETURN(parts.weights, pt2::Weights::OpenOld(archive, *root, zip_limits));
    return parts;
  }
  WEFT_ASSIGN_OR_RETURN(const std::string root, FindRoot(*archive));
  WEFT_RETURN_IF_ERROR(CheckHeader(*archive, root));
  WEFT_ASSIGN_OR_RETURN(const std::string name, FindProgram(*archive, root, wanted));
  parts.path = absl::StrCat(root, "models/", name, ".json");
  WEFT_ASSIGN_OR_RETURN(parts.weights,
                        pt2::Weights::Open(archive, root, name, json_limits, zip_limits));
  return parts;
}

// Programs compress to a fiftieth at most, so an archive that inflates to more is assumed to be
// malicious.
int64_t MaxInflatedBytes(int64_t file_bytes) {
  constexpr int64_t kInflation = 128;
  constexpr int64_t kFree = int64_t{64} << 20;
  return std::max(kFree, std::min(file_bytes, int64_t{1} << 48) * kInflation);
}

absl::StatusOr<std::unique_ptr<Module>> Import(std::shared_ptr<HostBuffer> file,
                                               const Pt2ImportOptions& options) {
  pt2::ZipLimits zip_limits;
  zip_limits.max_entries = options.max_entries;
  zip_limits.max_inflated_bytes =
      std::min(options.max_inflated_bytes, MaxInflatedBytes(file->size()));
  WEFT_ASSIGN_OR_RETURN(ZipArchive archive, ZipArchive::Open(std::move(file), zip_limits));
  pt2::JsonLimits json_limits;
  json_limits.max_bytes = options.max_json_bytes;
  json_limits.max_depth = options.max_json_depth;
  WEFT_ASSIGN_OR_RETURN(Parts parts, FindParts(&archive, zip_limits, json_limits, options.program));
  pt2::Weights& weights = parts.weights;
  WEFT_ASSIGN_OR_RETURN(const auto json, archive.Read(parts.path));
  WEFT_ASSIGN_OR_RETURN(pt2::ExportedProgram program,
                        pt2::ParseExportedProgram(Text(*json), parts.path, json_limits));
  WEFT_RETURN_IF_ERROR(pt2::FoldVmaps(&program.graph));
  pt2::ProgramImporter importer(&program, &weights, options);
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, importer.Run());
  WEFT_RETURN_IF_ERROR(Verify(*module));
  return module;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> ImportPt2Bytes(absl::string_view bytes,
                                                       const Pt2ImportOptions& options) {
  return CatchOutOfMemory([&] {
    auto copy = HostBuffer::Allocate(static_cast<int64_t>(bytes.size()));
    if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
    return Import(std::move(copy), options);
  });
}

absl::StatusOr<std::unique_ptr<Module>> ImportPt2(const std::string& path,
                                                  const Pt2ImportOptions& options) {
  WEFT_ASSIGN_OR_RETURN(auto file, HostBuffer::MapFile(path));
  auto module = CatchOutOfMemory([&] { return Import(std::move(file), options); });
  if (module.ok()) return module;
  return Annotate(module.status(), path);
}

}  // namespace weft
