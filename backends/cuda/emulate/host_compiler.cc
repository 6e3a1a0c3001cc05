#include "backends/cuda/emulate/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "backends/cuda/emulate/kernel_header.h"

extern char** environ;

namespace weft::cuda::emulate {
namespace {

// A folder of its own for one compilation.
class Folder {
 public:
  Folder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = (error ? std::filesystem::path("/tmp") : parent) / "weft_cuda_XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;  // Empty: it could not be made.
};

std::string ReadFile(const std::string& path) {
  std::stringstream read;
  read << std::ifstream(path, std::ios::binary).rdbuf();
  return read.str();
}

// Compiles and waits; false if the compiler cannot be started or fails.
bool RunCompiler(const std::string& source, const std::string& library, const std::string& output) {
  const char* const arguments[] = {"g++", "-std=c++17", "-O1", "-shared", "-fPIC",
                                   // Symbols of one name in several libraries stay apart.
                                   "-fno-gnu-unique", "-fwrapv", "-ffp-contract=off",
                                   "-fno-math-errno", "-fno-strict-aliasing", "-w", "-x", "c++",
                                   source.c_str(), "-o", library.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  pid_t pid = 0;
  const int started = posix_spawnp(&pid, arguments[0], &actions, nullptr,
                                   const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    std::ofstream(output) << "the emulation compiles kernels with g++, which cannot be started: "
                          << std::strerror(started);
    return false;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    // The caller may have waited for all its children.
    if (errno != EINTR) return std::filesystem::exists(library);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool CompileForHost(const std::string& source, std::string* library, std::string* log) {
  const Folder folder;
  if (folder.path().empty()) {
    *log = "the emulation cannot make a folder for temporary files";
    return false;
  }
  const std::string stem = folder.path() + "/kernels";
  std::string text = KernelHeader() + source + "\n";
  for (const std::string& kernel : KernelNames(source)) text += EntryText(kernel);
  std::ofstream(stem + ".cc") << text;
  const bool good = RunCompiler(stem + ".cc", stem + ".so", stem + ".log");
  *log = ReadFile(stem + ".log");
  if (good) *library = ReadFile(stem + ".so");
  return good && !library->empty();
}

}  // namespace weft::cuda::emulate
