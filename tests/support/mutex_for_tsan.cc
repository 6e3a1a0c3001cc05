// Describes absl::Mutex to ThreadSanitizer, for an Abseil built without it: code before an unlock
// happens before code after the next lock. The linker redirects calls of these methods to the
// functions here (--wrap; tests/profiler/tsan.sh has the symbols' names), which call the real ones.
// They also order readers, which a mutex does not.
#ifdef __SANITIZE_THREAD__
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);

#define WEFT_WRAP_LOCK(name, symbol)                      \
  void Real##name(void* mutex) __asm__("__real_" symbol); \
  void Own##name(void* mutex) __asm__("__wrap_" symbol);  \
  void Own##name(void* mutex) {                           \
    Real##name(mutex);                                    \
    __tsan_acquire(mutex);                                \
  }

#define WEFT_WRAP_UNLOCK(name, symbol)                    \
  void Real##name(void* mutex) __asm__("__real_" symbol); \
  void Own##name(void* mutex) __asm__("__wrap_" symbol);  \
  void Own##name(void* mutex) {                           \
    __tsan_release(mutex);                                \
    Real##name(mutex);                                    \
  }

WEFT_WRAP_LOCK(Lock, WEFT_MUTEX_PREFIX "4LockEv")
WEFT_WRAP_LOCK(ReaderLock, WEFT_MUTEX_PREFIX "10ReaderLockEv")
WEFT_WRAP_UNLOCK(Unlock, WEFT_MUTEX_PREFIX "6UnlockEv")
WEFT_WRAP_UNLOCK(ReaderUnlock, WEFT_MUTEX_PREFIX "12ReaderUnlockEv")
}
#endif
