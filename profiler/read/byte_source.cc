#include "profiler/read/byte_source.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace weft::profiler {
namespace {

constexpr size_t kBlockBytes = 1 << 18;

// Traces compress to a thirtieth, or a hundredth if they are repetitive. A file that inflates by
// more than this is assumed to be malicious.
constexpr int64_t kMaxInflation = 250;
constexpr int64_t kFreeInflatedBytes = int64_t{256} << 20;

// Limit that keeps arithmetic within 64 bits.
constexpr int64_t kMaxFileBytes = int64_t{1} << 50;

gzFile AsGzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::OpenFile(const std::string& path,
                                                                 Progress progress) {
  auto source = absl::WrapUnique(new ByteSource(path));
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": it is a folder"));
    }
    source->file_size_ = std::min<int64_t>(info.st_size, kMaxFileBytes);
  }
  errno = 0;
  source->gzip_ = gzopen(path.c_str(), "rb");
  if (source->gzip_ == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  gzbuffer(AsGzip(source->gzip_), kBlockBytes);
  source->block_.resize(kBlockBytes);
  source->progress_ = std::move(progress);
  return source;
}

std::unique_ptr<ByteSource> ByteSource::OfMemory(absl::string_view bytes, const std::string& name) {
  auto source = absl::WrapUnique(new ByteSource(name));
  source->begin_ = source->next_ = bytes.data();
  source->end_ = bytes.data() + bytes.size();
  return source;
}

ByteSource::~ByteSource() {
  if (gzip_ != nullptr) gzclose(AsGzip(gzip_));
}

bool ByteSource::Refill() {
  if (gzip_ == nullptr || !status_.ok()) return false;
  before_ += next_ - begin_;
  const int size = gzread(AsGzip(gzip_), block_.data(), static_cast<unsigned>(block_.size()));
  begin_ = next_ = end_ = block_.data();
  int error = Z_OK;
  const char* message = gzerror(AsGzip(gzip_), &error);
  if (size < 0 || (size == 0 && error != Z_OK && error != Z_STREAM_END)) {
    status_ = ErrorHere(error == Z_BUF_ERROR ? "the compressed data ends too soon" : message);
    return false;
  }
  if (file_size_ > 0 && before_ + size > std::max(kFreeInflatedBytes, kMaxInflation * file_size_)) {
    status_ = ErrorHere(absl::StrCat("the compressed data inflates to more than ", kMaxInflation,
                                     " times the file's size"));
    return false;
  }
  end_ = begin_ + size;
  if (progress_) progress_(gzoffset(AsGzip(gzip_)), file_size_);
  return size > 0;
}

void ByteSource::Read(size_t size, std::string* out) {
  out->clear();
  while (out->size() < size && !AtEnd()) {
    const size_t part = std::min(size - out->size(), static_cast<size_t>(end_ - next_));
    out->append(next_, part);
    next_ += part;
  }
}

absl::string_view ByteSource::LookAhead() {
  AtEnd();
  return absl::string_view(next_, static_cast<size_t>(end_ - next_));
}

absl::Status ByteSource::ErrorHere(absl::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ": byte ", position(), ": ", message));
}

}  // namespace weft::profiler
