"""Macros for Weft's own targets.

    load("//build_defs:weft.bzl", "weft_cc_library", "weft_cc_test")

    weft_cc_library(
        name = "dtype",
        srcs = ["dtype.cc"],
        hdrs = ["dtype.h"],
        deps = ["@abseil"],
    )

    weft_cc_test(                       # gtest, gmock and main() are there
        name = "dtype_test",
        srcs = ["dtype_test.cc"],
        deps = [":dtype"],
    )

    weft_cc_binary(name, srcs, deps)    # a program
    weft_cc_benchmark(name, srcs, deps) # google-benchmark with main(); run it
                                        # with `bazel run`
    weft_cc_fuzzer(name, srcs, deps)    # LLVMFuzzerTestOneInput; build it with
                                        # `bazel build --config=fuzz`

All compile with the warnings of WEFT_COPTS, which are errors. All take the
attributes of the native rule of that name, and

    openmp = True       compiles and links with OpenMP.

Libraries also take

    cold = ["x.cc"]     sources that are compiled for size, True for all: what runs once
                        for a file or a plan, or calls kernels for all that takes long.
    public = ["x.h"]    the headers that //tools:install lays down, and whose names
                        the installed library exports; all others are hidden.
                        They include public headers only.

A target's default visibility is its layer's: the package groups in
build_defs/BUILD.bazel say who may depend on the layer, so BUILD files need no
visibility lines. Includes are written from the repository's root.
"""

WEFT_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    # Functions of a table share one signature; not all use every parameter.
    "-Wno-unused-parameter",
    # Options structs are initialised by their first few fields.
    "-Wno-missing-field-initializers",
] + select({
    # GCC 12's flow analysis reports the ones below inside the standard library
    # and Abseil, on code that is right. GCC is the compiler that judges; clang
    # builds fuzzers only.
    "//build_defs:fuzz": ["-Wno-error"],
    "//conditions:default": [
        "-Wno-array-bounds",
        "-Wno-dangling-pointer",
        "-Wno-maybe-uninitialized",
        "-Wno-restrict",
        "-Wno-stringop-overflow",
        "-Wno-stringop-overread",
    ],
})

# A package belongs to the layer with the longest matching prefix.
_LAYERS = {
    "api": "api",
    "api/c": "api_c",
    "api/c/entries": "api",
    "api/c/library": "api",
    "api/c/runtime": "api",
    "backends": "backends",
    "backends/cpu": "backends_cpu",
    "backends/cuda": "backends_cuda",
    "backends/plugin": "backends_plugin",
    "backends/reference": "backends_reference",
    "base": "base",
    "examples": "examples",
    "examples/models": "examples_models",
    "graph": "graph",
    "graph/cost": "graph_cost",
    "graph/ops": "graph_ops",
    "lowering": "lowering",
    "passes": "passes",
    "profiler": "profiler",
    "serialize": "serialize",
    "serialize/flat": "serialize_flat",
    "tests": "tests",
    "tools": "tools",
}

def _layer_visibility():
    package = native.package_name()
    parts = package.split("/")
    for length in range(len(parts), 0, -1):
        layer = _LAYERS.get("/".join(parts[:length]))
        if layer:
            return ["//build_defs:users_of_" + layer]
    fail("//%s belongs to no layer: see _LAYERS in build_defs/weft.bzl." % package)

def _openmp(what):
    """Fuzzers run on one thread, and clang's OpenMP library is not asked for."""
    return select({
        "//build_defs:fuzz": [],
        "//conditions:default": what,
    })

def _own(kwargs, deps = []):
    """The attributes that every rule below gets."""
    openmp = kwargs.pop("openmp", False)
    kwargs["copts"] = WEFT_COPTS + (_openmp(["-fopenmp"]) if openmp else []) + kwargs.get("copts", [])
    kwargs["deps"] = kwargs.get("deps", []) + deps + (_openmp(["@openmp"]) if openmp else [])
    if kwargs.get("visibility") == None:
        kwargs["visibility"] = _layer_visibility()
    return kwargs

_COLD_COPTS = select({
    "//build_defs:optimized": ["-Os"],
    "//conditions:default": [],
})

def _cold_objects(name, srcs, kwargs):
    """Compiles `srcs` for size, as part of the library that `kwargs` are of. Returns its objects."""
    native.cc_library(
        name = name,
        srcs = srcs,
        linkstatic = True,
        **_own({
            "copts": kwargs.get("copts", []) + _COLD_COPTS,
            "deps": kwargs.get("deps", []),
            "hdrs": kwargs.get("hdrs", []),
            "openmp": kwargs.get("openmp", False),
        })
    )
    native.filegroup(
        name = name + "_objects",
        srcs = [":" + name],
        output_group = "compilation_outputs",
    )
    return [":%s_objects" % name]

def weft_cc_library(name, public = None, cold = None, **kwargs):
    """A library of ours; static only, so that each file is compiled once."""
    if cold == True:
        kwargs["copts"] = kwargs.get("copts", []) + _COLD_COPTS
    elif cold:
        others = [src for src in kwargs["srcs"] if src not in cold]
        kwargs["srcs"] = others + _cold_objects(name + "_cold", cold, kwargs)
    if public:
        native.filegroup(
            name = "public_headers",
            srcs = public,
            visibility = ["//api:__pkg__"],
        )
    native.cc_library(name = name, linkstatic = True, **_own(kwargs))

def weft_cc_binary(name, **kwargs):
    """A program of ours."""
    native.cc_binary(name = name, **_own(kwargs))

def weft_cc_test(name, size = "small", **kwargs):
    """A gtest test; `size` sets the timeout, so large ones must say so."""

    # Most of a test's code runs once. GCC takes a quarter less time for it at -O1, and tests are
    # most of what a clean build compiles.
    kwargs["copts"] = kwargs.get("copts", []) + select({
        "//build_defs:optimized": ["-O1"],
        "//conditions:default": [],
    })
    native.cc_test(
        name = name,
        size = size,
        linkstatic = True,
        **_own(kwargs, [
            "@googletest//:gmock",
            "@googletest//:gtest_main",
        ])
    )

def weft_cc_benchmark(name, **kwargs):
    """A benchmark program; it measures and asserts nothing."""
    native.cc_binary(name = name, testonly = True, **_own(kwargs, ["@benchmark//:benchmark_main"]))

def weft_cc_fuzzer(name, **kwargs):
    """A libFuzzer program, outside of `//...`: it needs --config=fuzz."""
    tags = kwargs.pop("tags", [])
    linkopts = kwargs.pop("linkopts", [])
    native.cc_binary(
        name = name,
        testonly = True,
        tags = tags + ["manual"],
        linkopts = linkopts + ["-fsanitize=fuzzer"],
        **_own(kwargs)
    )
