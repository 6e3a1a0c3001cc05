#include "api/plugin_tag.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// A range of the file's bytes; nullopt if the file is shorter.
std::optional<absl::string_view> Part(absl::string_view file, uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.substr(offset, size);
}

// A header of the file, copied for its alignment.
template <typename T>
std::optional<T> HeaderAt(absl::string_view file, uint64_t offset) {
  const auto bytes = Part(file, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T header;
  std::memcpy(&header, bytes->data(), sizeof header);
  return header;
}

absl::string_view UpToNul(absl::string_view text) { return text.substr(0, text.find('\0')); }

bool IsLibrary(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_type == ET_DYN;
}

class Sections {
 public:
  Sections(absl::string_view file, const Elf64_Ehdr& header) : file_(file), header_(header) {}

  std::optional<Elf64_Shdr> At(int i) const {
    const uint64_t begin = static_cast<uint64_t>(i) * sizeof(Elf64_Shdr);
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shoff > file_.size()) {
      return std::nullopt;
    }
    return HeaderAt<Elf64_Shdr>(file_, header_.e_shoff + begin);
  }
  // Empty if the file has no bytes for the section.
  absl::string_view Bytes(const std::optional<Elf64_Shdr>& section) const {
    if (!section || section->sh_type == SHT_NOBITS) return {};
    return Part(file_, section->sh_offset, section->sh_size).value_or(absl::string_view());
  }
  std::optional<absl::string_view> Find(absl::string_view wanted) const {
    const absl::string_view names = Bytes(At(header_.e_shstrndx));
    for (int i = 0; i < header_.e_shnum; ++i) {
      const auto section = At(i);
      if (!section) return std::nullopt;
      if (section->sh_name >= names.size()) continue;
      if (absl::StartsWith(names.substr(section->sh_name), wanted) &&
          UpToNul(names.substr(section->sh_name)) == wanted) {
        return Bytes(section);
      }
    }
    return std::nullopt;
  }

 private:
  absl::string_view file_;
  const Elf64_Ehdr& header_;
};

}  // namespace

absl::StatusOr<std::string> ReadPluginTag(absl::string_view file, absl::string_view section) {
  const auto header = HeaderAt<Elf64_Ehdr>(file, 0);
  if (!header || !IsLibrary(*header)) {
    return absl::InvalidArgumentError("it is not a shared library of this kind of machine");
  }
  const auto tag = Sections(file, *header).Find(section);
  if (!tag) return absl::NotFoundError(absl::StrCat("it has no section ", section));
  constexpr size_t kMaxBytes = 1024;
  return std::string(UpToNul(tag->substr(0, kMaxBytes)));
}

}  // namespace weft
