#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft {
namespace {

constexpr int kMaxLinks = 40;  // Symbolic links in a row, as Linux counts.
constexpr int64_t kHugePage = int64_t{2} << 20;

// The folder of the path, with its slash; "" if the path has no folder.
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// The descriptor of the open file that the path stands for; -1 for any other path.
int StandsForOpenFile(absl::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  int fd = -1;
  if (!absl::ConsumePrefix(&path, "/dev/fd/") && !absl::ConsumePrefix(&path, "/proc/self/fd/")) {
    return -1;
  }
  return absl::SimpleAtoi(path, &fd) && fd >= 0 ? fd : -1;
}

// Follows `path` while it is a link, up to one that stands for an open file. The file at the end
// may be missing. ELOOP when the links do not end.
int FollowLinks(std::string* path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    if (StandsForOpenFile(*path) >= 0) return 0;
    char link[4096];
    const ssize_t size = readlink(path->c_str(), link, sizeof(link));
    if (size < 0) return 0;  // Not a link; or open() reports the error.
    const std::string to(link, static_cast<size_t>(size));
    *path = absl::StartsWith(to, "/") ? to : absl::StrCat(FolderOf(*path), to);
  }
  return ELOOP;
}

// 0, or the error.
int WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Syncs the file. A file that cannot be synced, as on some file systems, is not an error.
int Sync(int fd) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
}

// Syncs the folder, so that the rename is on the disk. The rename has happened, so errors are
// ignored.
void SyncFolder(const std::string& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  file.target_ = path;
  if (const int error = FollowLinks(&file.target_)) return file.Error(error);
  const int open_file = StandsForOpenFile(file.target_);
  struct stat old = {};
  const bool exists = open_file < 0 && stat(file.target_.c_str(), &old) == 0;
  file.in_place_ = open_file >= 0 || (exists && !S_ISREG(old.st_mode));
  if (open_file >= 0) {
    file.fd_ = fcntl(open_file, F_DUPFD_CLOEXEC, 0);
  } else if (file.in_place_) {
    file.fd_ = open(file.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    WEFT_RETURN_IF_ERROR(file.OpenTemporary());
    if (exists) WEFT_RETURN_IF_ERROR(file.TakeAttributes());
  }
  if (file.fd_ < 0) return file.Error(errno);
  return file;
}

int OutputFile::TakeName(absl::FunctionRef<int(const char* path)> make) {
  static std::atomic<int64_t> number{0};
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    temporary_ = absl::StrCat(FolderOf(target_), ".weft-", getpid(), "-", ++number, ".tmp");
    const int made = make(temporary_.c_str());
    if (made >= 0) return made;
    if (errno != EEXIST) break;
  }
  temporary_.clear();
  return -1;
}

absl::Status OutputFile::OpenTemporary() {
  // Before anything is made: the folder may allow what the file does not.
  if (access(target_.c_str(), F_OK) == 0 &&
      faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) {
    return Error(errno);
  }
  // With a '/' at its end it would be a folder, and rename() would say so too late.
  if (target_.empty() || target_.back() == '/') return Error(target_.empty() ? ENOENT : EISDIR);
  const std::string folder = target_.find('/') == std::string::npos ? "." : FolderOf(target_);
  constexpr int kFlags = O_WRONLY | O_CLOEXEC;
  // /proc is needed to give a name to a file without one.
  if (access("/proc/self/fd", X_OK) == 0) fd_ = open(folder.c_str(), O_TMPFILE | kFlags, 0666);
  if (fd_ < 0) {
    fd_ = TakeName([](const char* path) { return open(path, O_CREAT | O_EXCL | kFlags, 0666); });
  }
  return fd_ >= 0 ? absl::OkStatus() : Error(errno);
}

absl::Status OutputFile::TakeAttributes() {
  struct stat old = {};
  if (stat(target_.c_str(), &old) != 0) return absl::OkStatus();  // Gone by now.
  // The owner comes first: changing it clears bits of the mode. A process that may set neither
  // owner nor group does not open the file to a group of its own.
  const bool same_group =
      fchown(fd_, old.st_uid, old.st_gid) == 0 || fchown(fd_, -1, old.st_gid) == 0;
  if (fchmod(fd_, old.st_mode & (same_group ? 0777 : 0707)) != 0) return Error(errno);
  return absl::OkStatus();
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  Drop();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  in_place_ = other.in_place_;
  temporary_ = std::exchange(other.temporary_, "");
  fd_ = std::exchange(other.fd_, -1);
  size_ = other.size_;
  kept_ = std::exchange(other.kept_, "");
  return *this;
}

OutputFile::~OutputFile() { Drop(); }

void OutputFile::Drop() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

absl::Status OutputFile::Error(int error) const {
  return absl::UnavailableError(absl::StrCat("cannot write ", path_, ": ", std::strerror(error)));
}

absl::Status OutputFile::Write(absl::string_view bytes) {
  const int64_t end = size_ + static_cast<int64_t>(bytes.size());
  const int64_t full = end - end % kHugePage;  // The end of the last huge page that is full.
  size_t now = in_place_ ? bytes.size() : 0;   // Bytes that this call writes of the rest.
  int error = 0;
  if (!in_place_ && full > size_) {
    const auto first = static_cast<size_t>(AlignUp(size_, kHugePage) - size_);
    kept_.append(bytes.data(), first);
    bytes.remove_prefix(first);
    error = Flush();
    now = static_cast<size_t>(full - size_) - first;
  }
  if (error == 0) error = WriteAll(fd_, bytes.substr(0, now));
  if (error != 0) return Error(error);
  kept_.append(bytes.data() + now, bytes.size() - now);
  size_ = end;
  return absl::OkStatus();
}

int OutputFile::Flush() {
  const int error = WriteAll(fd_, kept_);
  kept_.clear();
  return error;
}

absl::Status OutputFile::PadTo(int64_t offset) {
  static constexpr char kZeros[4096] = {};
  while (size_ < offset) {
    const int64_t part = std::min<int64_t>(offset - size_, sizeof(kZeros));
    WEFT_RETURN_IF_ERROR(Write(absl::string_view(kZeros, static_cast<size_t>(part))));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  int error = Flush();
  if (error == 0 && !in_place_) error = Sync(fd_);
  if (error == 0 && !in_place_ && temporary_.empty()) {
    const std::string unnamed = absl::StrCat("/proc/self/fd/", fd_);
    const int linked = TakeName([&](const char* path) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    });
    if (linked != 0) error = errno;
  }
  // Some file systems report a full disk at close().
  if (close(std::exchange(fd_, -1)) != 0 && error == 0) error = errno;
  if (error == 0 && !in_place_) {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
      error = errno;
    } else {
      temporary_.clear();
      SyncFolder(FolderOf(target_));
    }
  }
  if (error == 0) return absl::OkStatus();
  Drop();
  return Error(error);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  WEFT_ASSIGN_OR_RETURN(auto file, OutputFile::Open(path));
  WEFT_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

}  // namespace weft
