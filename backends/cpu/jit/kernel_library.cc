#include "backends/cpu/jit/kernel_library.h"

#include <dlfcn.h>

#include <chrono>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/jit/compiler.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// The text after a line with the compile command: together they determine the object.
std::string Keyed(absl::string_view text, const JitOptions& options) {
  return absl::StrCat("// ", options.compiler, " ", absl::StrJoin(options.flags, " "), "\n", text);
}

absl::StatusOr<void*> Load(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::InternalError(dlerror());
  return handle;
}

bool WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), text.size());
  return file.flush().good();
}

// Compiles `text` in `folder`; returns the path of the object.
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
  WEFT_RETURN_IF_ERROR(RunProgram(command, options.idle, options.time_limit));
  return object;
}

}  // namespace

absl::StatusOr<std::shared_ptr<KernelLibrary>> KernelLibrary::FromCache(absl::string_view text,
                                                                        const JitOptions& options) {
  if (options.cache_dir.empty()) return nullptr;
  WEFT_ASSIGN_OR_RETURN(const KernelCache cache, KernelCache::Open(options.cache_dir));
  const std::string object = cache.Find(Keyed(text, options));
  if (object.empty()) return nullptr;
  const auto handle = Load(object);
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
  if (!options.cache_dir.empty()) {
    WEFT_ASSIGN_OR_RETURN(const KernelCache cache, KernelCache::Open(options.cache_dir));
    cache.Keep(object, keyed);
  }
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
