#include "tools/conformance/case_program.h"

#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/compiled_file.h"
#include "api/compiler.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"

namespace weft::tools {
namespace {

// A folder of this process that goes away with the object.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "weft-case-XXXXXX").string()) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Scratch() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

absl::Status CompareBits(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want,
                         absl::string_view what) {
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i].valid() ? i < got.size() && got[i].valid() && got[i].BitEqual(want[i])
                                      : i >= got.size() || !got[i].valid();
    if (!same) {
      return absl::FailedPreconditionError(
          absl::StrCat("the compiled file's ", what, " ", i, " is not the session's"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CaseProgram> CaseProgram::Make(std::unique_ptr<Module> module,
                                              const CaseOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, options.target.Find());
  CompileOptions compile;
  WEFT_RETURN_IF_ERROR(options.pipeline.Apply(options.extensions, &compile));
  SetTarget(*backend, &compile);
  WEFT_RETURN_IF_ERROR(Compile(*module, compile).status());
  BackendOptions settings = options.target.options;
  // The last bits of a product may depend on the number of threads.
  if (!options.through.empty()) settings.emplace("threads", "1");
  WEFT_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(module), *backend, settings));
  WEFT_RETURN_IF_ERROR(session.WaitForCode());
  CaseProgram program(std::move(session));
  if (!options.through.empty()) WEFT_RETURN_IF_ERROR(program.WriteFile(options, *backend));
  return program;
}

absl::Status CaseProgram::WriteFile(const CaseOptions& options, const Backend& backend) {
  const Scratch scratch;
  if (!scratch.made()) return absl::UnavailableError("no temporary folder can be made");
  const bool is_object = options.through == "so";
  const std::string path = absl::StrCat(scratch.path(), is_object ? "/model.so" : "/model.weftb");
  const std::unique_ptr<Module> module = session_.module().Clone();
  CompiledProgramOptions open;
  CompiledFileOptions file;
  const auto cpu = options.target.options.find("cpu");
  if (cpu != options.target.options.end()) {
    // Another machine: of plans for several, the file's program runs the one for this.
    open.cpu = cpu->second;
    file.instruction_sets = {"avx2", "avx512"};
  }
  file.kernels = open.allow_code = options.through == "kernels";
  absl::Status status = is_object ? WriteCompiledLibrary(*module, backend, path, file)
                                  : WriteCompiledFile(*module, backend, path, file);
  if (status.ok()) {
    auto opened = CompiledProgram::Open(path, open);
    status = opened.status();
    if (opened.ok()) file_ = *std::move(opened);
  }
  return status;
}

absl::Status CaseProgram::CheckFile(absl::Span<const HostTensor> given) const {
  std::vector<HostTensor> inputs(given.begin(), given.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid()) continue;
    const InputInfo& info = main().input_info(static_cast<int>(i));
    const HostTensor* state = session_.state(info.name);
    inputs[i] = state != nullptr ? *state : session_.module().constants().tensor(info.value);
  }
  std::vector<HostTensor> written, file_written;
  WEFT_ASSIGN_OR_RETURN(const auto want, session_.RunStateless(inputs, &written));
  WEFT_ASSIGN_OR_RETURN(const auto got, file_->Run(inputs, &file_written));
  WEFT_RETURN_IF_ERROR(CompareBits(got, want, "output"));
  return CompareBits(file_written, written, "value written to input");
}

absl::StatusOr<std::vector<HostTensor>> CaseProgram::Run(absl::Span<const HostTensor> inputs) {
  if (file_) WEFT_RETURN_IF_ERROR(CheckFile(inputs));
  return session_.Run(inputs);
}

absl::StatusOr<std::vector<HostTensor>> CaseProgram::Run(std::vector<HostTensor>* inputs) {
  if (file_) WEFT_RETURN_IF_ERROR(CheckFile(*inputs));
  return session_.Run(inputs);
}

}  // namespace weft::tools
