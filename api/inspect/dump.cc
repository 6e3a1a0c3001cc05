#include "api/inspect/dump.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/text/text.h"

namespace weft {
namespace {

bool IsWord(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// Names of a list with commas between; expressions, which may contain commas, stay whole.
std::vector<std::string> SplitNames(const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const std::string& value : values) {
    const std::vector<std::string> parts = absl::StrSplit(value, ',');
    const bool words = std::all_of(parts.begin(), parts.end(), IsWord);
    if (words) {
      names.insert(names.end(), parts.begin(), parts.end());
    } else {
      names.push_back(value);
    }
  }
  return names;
}

}  // namespace

std::string PrintElided(const Module& module, std::optional<int64_t> elide) {
  PrintOptions options;
  if (elide.has_value()) {
    options.constants = false;
    options.max_inline_elements = *elide;
  }
  return PrintModule(module, options);
}

bool ModuleDumper::Selection::Picks(const PassReport& report) const {
  if (all || (changed && report.changed)) return true;
  return std::any_of(filters.begin(), filters.end(), [&](const NameFilter& filter) {
    return filter.Matches(report.pass) || filter.Matches(report.path);
  });
}

absl::Status ModuleDumper::Select(const std::vector<std::string>& names,
                                  const PassRegistry& registry, Selection* selection) {
  const std::vector<std::string> passes = registry.PassNames();
  for (const std::string& name : SplitNames(names)) {
    if (name == "all") {
      selection->all = true;
    } else if (name == "changed") {
      selection->changed = true;
    } else if (IsWord(name) && std::find(passes.begin(), passes.end(), name) == passes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown pass \"", name, "\"", DidYouMean(name, passes)));
    } else {
      WEFT_ASSIGN_OR_RETURN(auto filter, NameFilter::Parse(name));
      selection->filters.push_back(std::move(filter));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModuleDumper> ModuleDumper::Create(const DumpOptions& options,
                                                  const PassRegistry& registry) {
  ModuleDumper dumper;
  dumper.folder_ = options.folder;
  dumper.elide_ = options.elide;
  absl::Status status = Select(options.before, registry, &dumper.before_);
  if (status.ok() && dumper.before_.changed) {
    status =
        absl::InvalidArgumentError("before a pass it is not known whether it changes something");
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--print-before: ", status.message()));
  }
  status = Select(options.after, registry, &dumper.after_);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--print-after: ", status.message()));
  }
  if (!options.folder.empty()) {
    std::error_code error;  // An error shows when the file is written.
    std::filesystem::create_directories(options.folder, error);
  }
  return dumper;
}

absl::Status ModuleDumper::Write(const PassReport& report, const Module& module,
                                 absl::string_view when) const {
  const std::string head = absl::StrCat("// ----- ", when, " ", report.path, " -----\n");
  if (folder_.empty()) {
    std::cerr << head << PrintElided(module, elide_);
    return absl::OkStatus();
  }
  const std::string path =
      absl::StrFormat("%s/%04d.%s.%s.weft", folder_, report.index, report.path, when);
  return WriteFile(path, absl::StrCat(head, PrintElided(module, elide_)));
}

absl::Status ModuleDumper::Before(const PassReport& report, const Module& module) const {
  return before_.Picks(report) ? Write(report, module, "before") : absl::OkStatus();
}

absl::Status ModuleDumper::After(const PassReport& report, const Module& module) const {
  return after_.Picks(report) ? Write(report, module, "after") : absl::OkStatus();
}

}  // namespace weft
