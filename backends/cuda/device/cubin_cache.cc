#include "backends/cuda/device/cubin_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/output_file.h"

namespace weft::cuda {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kMark = "weft cubin 1\n";

struct Record {
  uint64_t key_bytes = 0;
  uint64_t cubin_bytes = 0;
  uint64_t cubin_digest = 0;  // FNV-1a.
};

// Makes missing folders, for their owner alone.
bool MakeFolder(const fs::path& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return true;
  if (!path.has_filename()) return MakeFolder(path.parent_path());  // The path ends with a slash.
  return MakeFolder(path.parent_path()) &&
         (mkdir(path.c_str(), 0700) == 0 || fs::is_directory(path, error));
}

}  // namespace

absl::StatusOr<CubinCache> CubinCache::Open(const std::string& folder) {
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("cache folder ", folder, ": ", why));
  };
  struct stat info;
  if (!MakeFolder(folder) || stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return refuse("cannot be made");
  }
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse("must belong to this user alone");
  }
  return CubinCache(folder);
}

std::string CubinCache::PathOf(absl::string_view key) const {
  return absl::StrCat(folder_, "/", absl::Hex(Fnv1a(key), absl::kZeroPad16), ".cubin");
}

std::optional<std::string> CubinCache::Find(absl::string_view key) const {
  std::ifstream file(PathOf(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = read.str();
  absl::string_view rest = text;
  Record record;
  if (!absl::StartsWith(rest, kMark) || rest.size() < kMark.size() + sizeof record) {
    return std::nullopt;
  }
  std::memcpy(&record, rest.data() + kMark.size(), sizeof record);
  rest.remove_prefix(kMark.size() + sizeof record);
  // Another key of the same hash is replaced.
  if (record.key_bytes != key.size() || !absl::StartsWith(rest, key)) return std::nullopt;
  rest.remove_prefix(key.size());
  if (rest.size() != record.cubin_bytes || Fnv1a(rest) != record.cubin_digest) return std::nullopt;
  return std::string(rest);
}

void CubinCache::Keep(absl::string_view key, absl::string_view cubin) const {
  const Record record = {key.size(), cubin.size(), Fnv1a(cubin)};
  const absl::string_view bytes(reinterpret_cast<const char*>(&record), sizeof record);
  WriteFile(PathOf(key), absl::StrCat(kMark, bytes, key, cubin)).IgnoreError();
}

}  // namespace weft::cuda
