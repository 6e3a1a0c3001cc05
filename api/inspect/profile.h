// Records a compilation and its runs, into a file that Chrome, Perfetto and torch's tools read, or
// into a table.
//
//   WEFT_ASSIGN_OR_RETURN(auto profile, Profile::Start({"trace.json.gz"}));
//   ... Compile(), Session::Create(), Run() ...
//   WEFT_RETURN_IF_ERROR(profile->Finish());
//
// profiler/session.h offers schedules, and user-defined sources and sinks.
#ifndef WEFT_API_INSPECT_PROFILE_H_
#define WEFT_API_INSPECT_PROFILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

struct ProfileOptions {
  // .json, .pftrace, .folded or .csv (profiler/sinks/file_sink.h), each also with .gz;
  // empty: no file.
  std::string path;
  // A larger JSON file is split into several; 0: never.
  int64_t max_file_bytes = 0;
  // Options of table(). `sort_by`: a column (profiler/sinks/key_averages.h); empty: self device
  // time if devices worked, else self CPU time.
  std::string sort_by;
  int64_t row_limit = 30;
  bool group_by_input_shape = false;
  // The machine's measured limits, for the roofline column; 0: unknown.
  double peak_gbytes = 0;
  double peak_gflops = 0;
};

class Profile {
 public:
  // FailedPrecondition while another recording is in progress; InvalidArgument for a path with an
  // unknown extension.
  static absl::StatusOr<std::unique_ptr<Profile>> Start(const ProfileOptions& options);
  ~Profile();

  // Ends a step of a loop; the trace shows steps as ProfilerStep#N.
  void Step();
  // Ends the recording and writes the file.
  absl::Status Finish();

  // Two tables of the recording, or one if no step ran: the steps of plans with what ran them, and
  // all else; with `group_by_input_shape` all spans by shapes in the second. Call after Finish().
  // InvalidArgument for an unknown `sort_by`.
  absl::StatusOr<std::string> Table() const;

 private:
  struct Impl;
  explicit Profile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_PROFILE_H_
