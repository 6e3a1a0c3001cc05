#include "backends/cuda/emulate/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace weft::cuda::emulate {
namespace {

constexpr size_t kMarkBytes = sizeof kImageMark - 1;

bool WriteAll(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t n = write(fd, bytes, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    count -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

std::string MakeImage(const std::string& library) {
  const uint64_t bytes = library.size();
  std::string image(kImageMark, kMarkBytes);
  image.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return image + library;
}

void* LoadImage(const char* image) {
  if (std::strncmp(image, kImageMark, kMarkBytes) != 0) return nullptr;
  uint64_t bytes = 0;
  std::memcpy(&bytes, image + kMarkBytes, sizeof bytes);
  // The loader takes a library with the path of a loaded one for that one: paths differ while the
  // process lives. The file has no name any more when it is loaded.
  static std::atomic<int> loaded{0};
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  std::string path = (error ? std::filesystem::path("/tmp") : folder) /
                     ("weft_cuda_" + std::to_string(loaded++) + "_XXXXXX");
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  const bool written = WriteAll(fd, image + kMarkBytes + sizeof bytes, bytes);
  close(fd);
  void* const library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  return library;
}

}  // namespace weft::cuda::emulate
