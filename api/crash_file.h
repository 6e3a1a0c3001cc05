// Writes a file when the process crashes.
//
// The contents of the file and the message are prepared beforehand: on SIGSEGV, SIGBUS, SIGFPE,
// SIGILL and SIGABRT (which failed CHECKs raise) the handler only opens, writes and closes, on a
// separate stack, and then passes the signal on. An armed file costs nothing while the program
// runs.
#ifndef WEFT_API_CRASH_FILE_H_
#define WEFT_API_CRASH_FILE_H_

#include <string>

namespace weft {

struct CrashFile {
  std::string path;
  std::string head;
  std::string body;     // Written after the head.
  std::string message;  // Written to standard error after the file.
};

// From now on a crash writes `file`, which must stay alive and unchanged while it is armed; null
// disarms. One file at a time is armed, for the whole process. The first call installs the
// handlers.
void ArmCrashFile(const CrashFile* file);

}  // namespace weft

#endif  // WEFT_API_CRASH_FILE_H_
