// A file that a crash leaves behind.
//
// All that the file and the message hold is prepared beforehand: on SIGSEGV,
// SIGBUS, SIGFPE, SIGILL and SIGABRT (failed CHECKs among them) the handler only
// opens, writes and closes, on a stack of its own, and then the signal takes its
// course. Being armed costs nothing while the program runs.
#ifndef WEFT_API_CRASH_FILE_H_
#define WEFT_API_CRASH_FILE_H_

#include <string>

namespace weft {

struct CrashFile {
  std::string path;
  std::string head;
  std::string body;     // Follows the head.
  std::string message;  // For standard error, after the file is written.
};

// From now on a crash writes `file`, which must outlive the arming and not
// change; null: nothing. One file is armed at a time, for the whole process.
// The first call installs the handlers.
void ArmCrashFile(const CrashFile* file);

}  // namespace weft

#endif  // WEFT_API_CRASH_FILE_H_
