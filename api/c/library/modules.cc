#include "api/c/library/modules.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/c/entries/errors.h"
#include "api/c/entries/texts.h"
#include "api/c/library/entries.h"
#include "api/compiled_file.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "api/verify_level.h"
#include "base/status_macros.h"

namespace weft::c {
namespace {

absl::Status UnknownName(absl::string_view what, absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no ", what));
}

// The options of a compilation for the target, or for none ("").
absl::StatusOr<CompileOptions> CompileOptionsFrom(const char* passes, const char* target) {
  CompileOptions options;
  options.passes = passes != nullptr ? passes : "";
  if (target != nullptr) {
    WEFT_ASSIGN_OR_RETURN(const Backend* backend, BuiltinBackends().Find(target));
    SetTarget(*backend, &options);
  } else if (passes == nullptr) {
    options.passes = "default";
  }
  return options;
}

// LoadOptions, and the extensions that they refer to.
struct Loading {
  explicit Loading(const weft_load_options& given) {
    options.parameters_as_inputs = given.parameters_as_state != 0;
    if (given.extensions == nullptr) return;
    extensions = given.extensions->shared;
    options.ops = &extensions->value.ops();
  }

  LoadOptions options;
  ExtensionsRef extensions;
};

absl::Status Parse(const char* text, size_t size, const char* name,
                   const weft_load_options* options, weft_module** module) {
  WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
  *module = nullptr;
  WEFT_RETURN_IF_ERROR(CheckGiven(text, "text"));
  WEFT_ASSIGN_OR_RETURN(const weft_load_options given, OptionsFrom(options));
  const Loading loading(given);
  WEFT_ASSIGN_OR_RETURN(
      auto parsed, LoadModelText(absl::string_view(text, size), name != nullptr ? name : "text",
                                 loading.options));
  *module = new weft_module{loading.extensions, std::move(parsed)};
  return absl::OkStatus();
}

}  // namespace

weft_error* ModuleLoad(const char* path, const weft_load_options* options, weft_module** module) {
  return Guarded("module_load", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    *module = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(path, "path"));
    WEFT_ASSIGN_OR_RETURN(const weft_load_options given, OptionsFrom(options));
    const Loading loading(given);
    WEFT_ASSIGN_OR_RETURN(auto loaded, LoadModel(path, loading.options));
    *module = new weft_module{loading.extensions, std::move(loaded)};
    return absl::OkStatus();
  });
}

weft_error* ModuleParse(const char* text, size_t size, const char* name, weft_module** module) {
  return Guarded("module_parse", [&] { return Parse(text, size, name, nullptr, module); });
}

weft_error* ModuleParseWith(const char* text, size_t size, const char* name,
                            const weft_load_options* options, weft_module** module) {
  return Guarded("module_parse_with", [&] { return Parse(text, size, name, options, module); });
}

weft_error* ModuleClone(const weft_module* module, weft_module** clone) {
  return Guarded("module_clone", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(clone, "clone"));
    *clone = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    *clone = new weft_module{module->extensions, module->value->Clone()};
    return absl::OkStatus();
  });
}

void ModuleDestroy(weft_module* module) { delete module; }

weft_error* ModuleRunPasses(weft_module* module, const weft_pass_options* options) {
  return Guarded("module_run_passes", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    WEFT_ASSIGN_OR_RETURN(const weft_pass_options given, OptionsFrom(options));
    WEFT_ASSIGN_OR_RETURN(CompileOptions compile, CompileOptionsFrom(given.passes, given.target));
    if (given.verify != nullptr) {
      const std::optional<VerifyLevel> level = ParseVerifyLevel(given.verify);
      if (!level) return UnknownName("level of checks", given.verify);
      compile.verify = *level;
    }
    UseExtensions(module->extensions, &compile);
    return Compile(*module->value, compile).status();
  });
}

weft_error* ModuleEmit(const weft_module* module, const char* format, const char* target,
                       weft_text** text) {
  return Guarded("module_emit", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(text, "text"));
    *text = nullptr;
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    WEFT_RETURN_IF_ERROR(CheckGiven(format, "format"));
    const std::optional<EmitFormat> emit_format = ParseEmitFormat(format);
    if (!emit_format) return UnknownName("format", format);
    WEFT_ASSIGN_OR_RETURN(const Backend* backend,
                          BuiltinBackends().Find(target != nullptr ? target : "cpu"));
    WEFT_ASSIGN_OR_RETURN(std::string emitted,
                          Emit(*module->value, *emit_format, &backend->target()));
    *text = new weft_text{std::move(emitted)};
    return absl::OkStatus();
  });
}

weft_error* ModuleSave(const weft_module* module, const char* path) {
  return Guarded("module_save", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    WEFT_RETURN_IF_ERROR(CheckGiven(path, "path"));
    return SaveModel(*module->value, path);
  });
}

weft_error* ModuleCompile(const weft_module* module, const char* path,
                          const weft_file_options* options) {
  return Guarded("module_compile", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(module, "module"));
    WEFT_RETURN_IF_ERROR(CheckGiven(path, "path"));
    WEFT_ASSIGN_OR_RETURN(const weft_file_options given, OptionsFrom(options));
    WEFT_ASSIGN_OR_RETURN(FileTargets targets,
                          ParseFileTargets(given.target != nullptr ? given.target : "cpu"));
    WEFT_ASSIGN_OR_RETURN(CompileOptions compile,
                          CompileOptionsFrom(given.passes, targets.backend.c_str()));
    UseExtensions(module->extensions, &compile);
    WEFT_ASSIGN_OR_RETURN(const Backend* backend, BuiltinBackends().Find(targets.backend));
    CompiledFileOptions file;
    file.instruction_sets = std::move(targets.instruction_sets);
    file.graph = given.strip_graph == 0;
    file.names = given.strip_names == 0;
    file.pack = given.pack != 0;
    file.kernels = given.compiler != nullptr;
    if (given.compiler != nullptr) file.compiler = given.compiler;
    file.pipeline = compile.passes;
    file.source_hash = HashSource(*module->value);
    const std::unique_ptr<Module> copy = module->value->Clone();
    WEFT_RETURN_IF_ERROR(Compile(*copy, compile).status());
    return absl::EndsWith(path, ".so") ? WriteCompiledLibrary(*copy, *backend, path, file)
                                       : WriteCompiledFile(*copy, *backend, path, file);
  });
}

}  // namespace weft::c
