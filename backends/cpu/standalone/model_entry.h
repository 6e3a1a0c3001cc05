// The interface of a model as a shared object (model_library.h): it exports one function,
// weft_model_entry, that returns a ModelEntry.
//
// The declarations are code here, and text in the source of the object.
#ifndef WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_
#define WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_

namespace weft::cpu {

// A ModelCode has the kernels of the plan for an instruction set, in the order of the plan and its
// nested plans. `run` is null for a kernel that is interpreted; the texts are sizes as plans print
// them (emit/emit_cc.h: CcKernel).
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
inline constexpr unsigned kModelEntryVersion = 2;
inline constexpr char kModelEntrySymbol[] = "weft_model_entry";

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_MODEL_ENTRY_H_
