#include "api/inspect/profile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/inspect/device_sources.h"
#include "base/status_macros.h"
#include "profiler/session.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/sinks/key_averages.h"

namespace weft {

struct Profile::Impl {
  ProfileOptions options;
  std::unique_ptr<profiler::TraceSink> file;
  std::unique_ptr<profiler::KeyAverages> steps;   // Of plans.
  std::unique_ptr<profiler::KeyAverages> others;  // Passes, runs, memory.
  std::unique_ptr<profiler::Session> session;
};

Profile::Profile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Profile::~Profile() = default;

absl::StatusOr<std::unique_ptr<Profile>> Profile::Start(const ProfileOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  if (!options.path.empty()) {
    WEFT_ASSIGN_OR_RETURN(impl->file, profiler::MakeFileSink(options.path, options.max_file_bytes));
  }
  profiler::KeyAveragesOptions steps;
  steps.group = profiler::KeyAveragesOptions::Group::kStep;
  impl->steps = std::make_unique<profiler::KeyAverages>(steps);
  profiler::KeyAveragesOptions others;
  others.without_steps = !options.group_by_input_shape;
  if (options.group_by_input_shape) {
    others.group = profiler::KeyAveragesOptions::Group::kNameAndShapes;
  }
  impl->others = std::make_unique<profiler::KeyAverages>(others);
  profiler::SessionOptions session;
  session.sources = DeviceSources();
  WEFT_ASSIGN_OR_RETURN(impl->session, profiler::Session::Start(std::move(session)));
  return std::unique_ptr<Profile>(new Profile(std::move(impl)));
}

void Profile::Step() { impl_->session->Step(); }

absl::Status Profile::Finish() {
  WEFT_ASSIGN_OR_RETURN(const profiler::Trace trace, impl_->session->Stop());
  if (impl_->file != nullptr) {
    WEFT_RETURN_IF_ERROR(profiler::ExportTrace(trace, *impl_->file));
  }
  WEFT_RETURN_IF_ERROR(profiler::ExportTrace(trace, *impl_->steps));
  return profiler::ExportTrace(trace, *impl_->others);
}

absl::StatusOr<std::string> Profile::Table() const {
  profiler::TableOptions table;
  table.sort_by = impl_->options.sort_by;
  if (table.sort_by.empty()) {
    table.sort_by =
        impl_->others->DeviceTotal() > 0 ? "self_device_time_total" : "self_cpu_time_total";
  }
  table.row_limit = impl_->options.row_limit;
  table.roofline = {impl_->options.peak_gbytes, impl_->options.peak_gflops};
  WEFT_ASSIGN_OR_RETURN(const std::string others, impl_->others->Table(table));
  if (impl_->steps->rows().empty()) return others;
  WEFT_ASSIGN_OR_RETURN(const std::string steps, impl_->steps->Table(table));
  return absl::StrCat("Steps\n", steps, "\nPasses, runs and others\n", others);
}

}  // namespace weft
