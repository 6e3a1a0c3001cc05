// The folder that keeps compiled kernels.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/jit/logs.h"
#include "base/file_descriptor.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kRecordBegin = "// object: ";
constexpr char kTemporary[] = ".tmp";
// Age at which temporary files of killed processes are removed.
constexpr std::chrono::hours kMaxAgeOfTemporary(1);

// The bytes of a regular file; nullopt for other files and on errors.
std::optional<std::string> ReadFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info;
  if (!file.is_open() || fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = read(file.fd(), &bytes[have], bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return bytes;
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Writes the file atomically: it exists with all of its bytes or not at all.
bool Replace(const std::string& path, absl::string_view bytes) {
  std::string temporary = absl::StrCat(path, ".XXXXXX", kTemporary);
  bool done = false;
  {
    const FileDescriptor file(mkostemps(&temporary[0], sizeof kTemporary - 1, O_CLOEXEC));
    if (!file.is_open()) return false;
    done = WriteAll(file.fd(), bytes) && fsync(file.fd()) == 0;
  }
  done = done && rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) unlink(temporary.c_str());
  return done;
}

void SyncFolder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) fsync(folder.fd());
}

// Makes missing folders, writable only by the owner, whatever the umask.
bool MakeFolder(const fs::path& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return true;
  if (!path.has_filename()) return MakeFolder(path.parent_path());  // The path ends with a slash.
  return MakeFolder(path.parent_path()) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

void RemoveOldTemporaries(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!absl::EndsWith(it->path().native(), kTemporary)) continue;
    const auto written = fs::last_write_time(it->path(), error);
    if (!error && fs::file_time_type::clock::now() - written > kMaxAgeOfTemporary) {
      old.push_back(it->path());
    }
    error.clear();
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

void LogBroken(const std::string& path, absl::string_view what) {
  Log(codegen_log, LogSeverity::kWarning,
      absl::StrCat("cache: ", path, " ", what, "; it is compiled again"));
}

}  // namespace

std::string FormatObjectRecord(const ObjectRecord& record) {
  return absl::StrCat(kRecordBegin, record.bytes, " ", absl::Hex(record.digest, absl::kZeroPad16),
                      "\n");
}

std::optional<ObjectRecord> ConsumeObjectRecord(absl::string_view* text) {
  const size_t end = text->find('\n');
  if (end == absl::string_view::npos) return std::nullopt;
  absl::string_view line = text->substr(0, end);
  if (!absl::ConsumePrefix(&line, kRecordBegin)) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  ObjectRecord record;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &record.bytes) || parts[1].size() != 16 ||
      !absl::SimpleHexAtoi(parts[1], &record.digest)) {
    return std::nullopt;
  }
  text->remove_prefix(end + 1);
  return record;
}

absl::StatusOr<KernelCache> KernelCache::Open(const std::string& folder) {
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
  return KernelCache(folder);
}

std::string KernelCache::StemOf(absl::string_view text) const {
  return absl::StrCat(folder_, "/", absl::Hex(Fnv1a(text), absl::kZeroPad16));
}

std::string KernelCache::Find(absl::string_view text) const {
  const std::string stem = StemOf(text);
  const std::optional<std::string> kept = ReadFile(stem + ".cc");
  if (!kept) return "";
  absl::string_view rest = *kept;
  const std::optional<ObjectRecord> record = ConsumeObjectRecord(&rest);
  if (rest != text) return "";  // Another text of the same hash, or one that was changed.
  const std::string path = stem + ".so";
  if (!record) {
    LogBroken(path, "has no record of its bytes");
    return "";
  }
  const std::optional<std::string> object = ReadFile(path);
  if (!object || object->size() != record->bytes || Fnv1a(*object) != record->digest) {
    LogBroken(path, object ? "is not as it was written" : "cannot be read");
    return "";
  }
  return path;
}

// The object is written first: a reader that finds the record finds the object.
void KernelCache::Keep(const std::string& path, absl::string_view text) const {
  RemoveOldTemporaries(folder_);
  const std::optional<std::string> object = ReadFile(path);
  if (!object) return;
  const std::string stem = StemOf(text);
  const ObjectRecord record = {object->size(), Fnv1a(*object)};
  if (!Replace(stem + ".so", *object)) return;
  if (Replace(stem + ".cc", absl::StrCat(FormatObjectRecord(record), text))) SyncFolder(folder_);
}

}  // namespace weft::cpu
