#include "tools/common/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "base/printable.h"

namespace weft::tools {
namespace {

// Buffers of std::cout and std::cerr without a console; null: unchanged.
std::streambuf* raw_out = nullptr;
std::streambuf* raw_err = nullptr;

class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf* to) : to_(to) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    held_.append(text, static_cast<size_t>(size));
    return Put(held_.size() - UnfinishedBytes(held_)) ? size : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return Put(held_.size()) ? to_->pubsync() : -1; }

 private:
  // Passes on `size` of the held bytes.
  bool Put(size_t size) {
    const std::string text = Printable(absl::string_view(held_).substr(0, size));
    held_.erase(0, size);
    const auto bytes = static_cast<std::streamsize>(text.size());
    return to_->sputn(text.data(), bytes) == bytes;
  }

  std::streambuf* const to_;
  std::string held_;  // Beginning of a character whose end has not arrived.
};

// open() uses the lowest free descriptor.
void OpenMissingStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDONLY) < 0) return;
  }
}

absl::Status OutputError() { return absl::UnavailableError("cannot write standard output"); }

}  // namespace

Console::Console()
    : out_(std::make_unique<PrintableBuffer>(std::cout.rdbuf())),
      err_(std::make_unique<PrintableBuffer>(std::cerr.rdbuf())) {
  OpenMissingStandardFiles();
  raw_out = std::cout.rdbuf();
  raw_err = std::cerr.rdbuf();
  std::cout.rdbuf(out_.get());
  std::cerr.rdbuf(err_.get());
}

Console::~Console() {
  std::cout.flush();
  std::cerr.flush();
  // rdbuf() clears the state, so it is restored: failed writes must stay errors.
  const auto state = std::cout.rdstate();
  std::cout.rdbuf(raw_out);
  std::cerr.rdbuf(raw_err);
  std::cout.setstate(state);
  raw_out = raw_err = nullptr;
}

absl::Status Console::Finish() {
  std::cout.flush();
  return std::cout ? absl::OkStatus() : OutputError();
}

absl::Status WriteRaw(absl::string_view bytes) {
  std::cout.flush();
  std::streambuf* to = raw_out != nullptr ? raw_out : std::cout.rdbuf();
  const auto size = static_cast<std::streamsize>(bytes.size());
  if (to->sputn(bytes.data(), size) != size || to->pubsync() != 0) {
    std::cout.setstate(std::ios::badbit);
  }
  return std::cout ? absl::OkStatus() : OutputError();
}

}  // namespace weft::tools
