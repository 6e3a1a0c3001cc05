// The table of the runtime: what needs a compiler is an error by name.
#include <cstddef>
#include <string>
#include <vector>

#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

template <typename Handle>
Handle* Stale() {
  static char memory;
  return reinterpret_cast<Handle*>(&memory);
}

void ExpectNeedsLibrary(weft_error* error, const std::string& entry) {
  const Error taken = Take(error);
  EXPECT_EQ(taken.code, WEFT_UNIMPLEMENTED) << entry;
  EXPECT_EQ(taken.function, entry);
  EXPECT_EQ(taken.message, entry + " needs libweft_c; this is the runtime, libweft_c_runtime");
}

TEST(WeftRuntimeTest, EntriesOfTheLibraryAreErrors) {
  const weft_api& weft = Weft();
  auto* module = Stale<weft_module>();
  ExpectNeedsLibrary(weft.module_load("a.onnx", nullptr, &module), "module_load");
  EXPECT_EQ(module, nullptr);
  module = Stale<weft_module>();
  ExpectNeedsLibrary(weft.module_parse("", 0, "a", &module), "module_parse");
  EXPECT_EQ(module, nullptr);
  module = Stale<weft_module>();
  ExpectNeedsLibrary(weft.module_parse_with("", 0, "a", nullptr, &module), "module_parse_with");
  EXPECT_EQ(module, nullptr);
  ExpectNeedsLibrary(weft.module_clone(nullptr, &module), "module_clone");
  ExpectNeedsLibrary(weft.module_run_passes(nullptr, nullptr), "module_run_passes");
  auto* text = Stale<weft_text>();
  ExpectNeedsLibrary(weft.module_emit(nullptr, "text", nullptr, &text), "module_emit");
  EXPECT_EQ(text, nullptr);
  ExpectNeedsLibrary(weft.module_save(nullptr, "a.weft"), "module_save");
  ExpectNeedsLibrary(weft.module_compile(nullptr, "a.weftb", nullptr), "module_compile");
  auto* program = Stale<weft_program>();
  ExpectNeedsLibrary(weft.program_create(nullptr, nullptr, &program), "program_create");
  EXPECT_EQ(program, nullptr);
  auto* extensions = Stale<weft_extensions>();
  ExpectNeedsLibrary(weft.extensions_create(&extensions), "extensions_create");
  EXPECT_EQ(extensions, nullptr);
  ExpectNeedsLibrary(weft.extensions_add_rules(nullptr, "", 0, "a"), "extensions_add_rules");
  weft_dl_device device = {1, 0};
  ExpectNeedsLibrary(weft.program_device(nullptr, &device), "program_device");
  weft_managed_tensor* outputs[] = {Stale<weft_managed_tensor>(), Stale<weft_managed_tensor>()};
  ExpectNeedsLibrary(weft.program_run_on_device(nullptr, nullptr, nullptr, 0, outputs, 2),
                     "program_run_on_device");
  EXPECT_EQ(outputs[0], nullptr);
  EXPECT_EQ(outputs[1], nullptr);
  ExpectNeedsLibrary(weft.program_synchronize(nullptr), "program_synchronize");
  outputs[0] = Stale<weft_managed_tensor>();
  ExpectNeedsLibrary(weft.program_copy_tensor(nullptr, nullptr, device, &outputs[0]),
                     "program_copy_tensor");
  EXPECT_EQ(outputs[0], nullptr);
}

TEST(WeftRuntimeTest, AnOpIsGivenBack) {
  bool destroyed = false;
  weft_op op = {sizeof op};
  op.context = &destroyed;
  op.destroy = [](void* context) { *static_cast<bool*>(context) = true; };
  ExpectNeedsLibrary(Weft().extensions_add_op(nullptr, &op), "extensions_add_op");
  EXPECT_TRUE(destroyed);
}

TEST(WeftRuntimeTest, ProfilesAreText) {
  weft_profile* profile = nullptr;
  ASSERT_FINE(Weft().profile_start(&profile));
  const Error error = Take(Weft().profile_stop(profile, "trace.pftrace"));
  EXPECT_EQ(error.code, WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(error.function, "profile_stop");
  EXPECT_EQ(error.message,
            "cannot tell the format of trace.pftrace by its name: it ends in none of .json, "
            ".folded, .csv, with or without .gz");
}

TEST(WeftRuntimeTest, EveryEntryIsThere) {
  const weft_api& weft = Weft();
  EXPECT_EQ(weft.struct_size, sizeof weft);
  // After the size and the version, the table has functions alone.
  const auto* entries = reinterpret_cast<const void* const*>(&weft.library_version);
  const size_t count = (sizeof weft - offsetof(weft_api, library_version)) / sizeof *entries;
  for (size_t i = 0; i < count; ++i) EXPECT_NE(entries[i], nullptr) << i;
  weft.module_destroy(nullptr);
  weft.extensions_destroy(nullptr);
  EXPECT_EQ(weft.op_call_num_operands(nullptr), 0u);
  EXPECT_EQ(weft.op_call_operand(nullptr, 0), nullptr);
  EXPECT_EQ(weft_get_api(WEFT_API_VERSION + 1), nullptr);
}

}  // namespace
}  // namespace weft_api_test
