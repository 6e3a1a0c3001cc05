#include "backends/cpu/jit/kernel_library.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/jit/compiler.h"
#include "graph/core/status_macros.h"

namespace weft::cpu {
namespace {

namespace fs = std::filesystem;

// FNV-1a: the same in every process.
uint64_t Hash(absl::string_view text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return h;
}

// What decides the object: the first line of a cached text says how it was made.
std::string Keyed(absl::string_view text, const JitOptions& options) {
  return absl::StrCat("// ", options.compiler, " ", absl::StrJoin(options.flags, " "), "\n", text);
}

absl::StatusOr<void*> Load(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::InternalError(dlerror());
  return handle;
}

absl::Status CheckFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  struct stat info;
  if (error || stat(path.c_str(), &info) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("cache folder ", path, ": cannot be made"));
  }
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cache folder ", path, ": must belong to this user alone"));
  }
  return absl::OkStatus();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), text.size());
  return file.flush().good();
}

// Compiles `text` in `folder`; the path of the object.
absl::StatusOr<std::string> Compile(const std::string& folder, absl::string_view text,
                                    const JitOptions& options) {
  const std::string source = absl::StrCat(folder, "/kernels.cc");
  const std::string object = absl::StrCat(folder, "/kernels.so");
  if (!WriteFile(source, text)) {
    return absl::InternalError(absl::StrCat(source, ": cannot be written"));
  }
  std::vector<std::string> command = {options.compiler};
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), {"-shared", "-fPIC", "-o", object, source});
  WEFT_RETURN_IF_ERROR(RunProgram(command, options.idle));
  return object;
}

// The object first: whoever sees the text sees the object.
void Keep(const std::string& object, const std::string& text, const std::string& stem) {
  const std::string mark = absl::StrCat(".", getpid(), ".tmp");
  std::error_code error;
  fs::copy_file(object, stem + ".so" + mark, error);
  if (error || !WriteFile(stem + ".cc" + mark, text)) return;
  fs::rename(stem + ".so" + mark, stem + ".so", error);
  if (!error) fs::rename(stem + ".cc" + mark, stem + ".cc", error);
}

// Where the object of a text is kept, without its extension.
std::string StemOf(const std::string& keyed, const JitOptions& options) {
  return absl::StrCat(options.cache_dir, "/", absl::Hex(Hash(keyed), absl::kZeroPad16));
}

}  // namespace

absl::StatusOr<std::shared_ptr<KernelLibrary>> KernelLibrary::FromCache(absl::string_view text,
                                                                        const JitOptions& options) {
  if (options.cache_dir.empty()) return nullptr;
  WEFT_RETURN_IF_ERROR(CheckFolder(options.cache_dir));
  const std::string keyed = Keyed(text, options);
  const std::string stem = StemOf(keyed, options);
  if (ReadFile(stem + ".cc") != keyed) return nullptr;
  const auto handle = Load(stem + ".so");
  if (!handle.ok()) return nullptr;
  return std::shared_ptr<KernelLibrary>(new KernelLibrary(*handle));
}

absl::StatusOr<std::shared_ptr<KernelLibrary>> KernelLibrary::Create(absl::string_view text,
                                                                     const JitOptions& options,
                                                                     JitStats* stats) {
  JitStats unused;
  if (stats == nullptr) stats = &unused;
  WEFT_ASSIGN_OR_RETURN(auto kept, FromCache(text, options));
  if (kept != nullptr) {
    stats->from_cache = true;
    return kept;
  }
  const std::string keyed = Keyed(text, options);
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  const auto start = std::chrono::steady_clock::now();
  WEFT_ASSIGN_OR_RETURN(const std::string object, Compile(folder.path(), keyed, options));
  stats->compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.cache_dir.empty()) Keep(object, keyed, StemOf(keyed, options));
  WEFT_ASSIGN_OR_RETURN(void* const handle, Load(object));
  return std::shared_ptr<KernelLibrary>(new KernelLibrary(handle));
}

KernelLibrary::~KernelLibrary() { dlclose(handle_); }

void* KernelLibrary::Find(const std::string& symbol) const {
  return dlsym(handle_, symbol.c_str());
}

bool LoadSleef() {
  static const bool loaded = dlopen("libsleef.so.3", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  return loaded;
}

}  // namespace weft::cpu
