// The interface of generated code (model_library.h): one function that returns a ModelEntry, which
// shared objects export as weft_model_entry.
//
// The declarations are code here, and text in generated sources.
#ifndef WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_
#define WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_

namespace weft::cpu {

// A ModelCode has the kernels of the plan for an instruction set, in the order of the plan and its
// nested plans; `plan` is the hash that a .weftb file has of the plan's text. `run` is null for a
// kernel that is interpreted; the texts are sizes as plans print them (emit/emit_cc.h: CcKernel).
// `file` is null if the plan is in a file of its own.
#define WEFT_MODEL_ENTRY                                                                   \
  struct ModelKernel {                                                                     \
    const char* name;                                                                      \
    int (*run)(void* const* args, const long* sizes, void* scratch, long begin, long end); \
    unsigned long num_sizes;                                                               \
    const char* const* sizes;                                                              \
    const char* points;                                                                    \
    const char* scratch_bytes;                                                             \
    const char* work_per_point;                                                            \
  };                                                                                       \
  struct ModelCode {                                                                       \
    const char* instruction_set;                                                           \
    unsigned long plan;                                                                    \
    unsigned long num_kernels;                                                             \
    const ModelKernel* kernels;                                                            \
  };                                                                                       \
  struct ModelEntry {                                                                      \
    unsigned version;                                                                      \
    const unsigned char* file;                                                             \
    const unsigned char* file_end;                                                         \
    unsigned long num_codes;                                                               \
    const ModelCode* const* codes;                                                         \
  };

WEFT_MODEL_ENTRY

#define WEFT_MODEL_TEXT_OF(...) #__VA_ARGS__
#define WEFT_MODEL_TEXT(...) WEFT_MODEL_TEXT_OF(__VA_ARGS__)
inline constexpr char kModelEntryText[] = WEFT_MODEL_TEXT(WEFT_MODEL_ENTRY);
#undef WEFT_MODEL_TEXT
#undef WEFT_MODEL_TEXT_OF
#undef WEFT_MODEL_ENTRY

// Changes with the structs, and with how kernels are called.
inline constexpr unsigned kModelEntryVersion = 3;
// The format of machine code in .weftb files: a shared object for Linux, with that version.
inline constexpr char kModelCodeFormat[] = "elf x86-64 3";
inline constexpr char kModelEntrySymbol[] = "weft_model_entry";

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_
