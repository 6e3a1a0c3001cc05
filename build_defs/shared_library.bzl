"""Weft as one shared library.

    whole_archives(name, deps)        every object of `deps` and of this
                                      repository's libraries below them, whether or
                                      not something refers to it; without Abseil
    linked_with(name, library, held, deps)
                                      `deps` with the code of `library`, a shared
                                      one and what it stands on, in the place of
                                      all below `held`, and of Abseil
    linked_with_weft(name, deps)      the same with libweft.so

Left to itself, Bazel 4 links those objects alone that something in the shared
library refers to, and gives a program that depends on the library and on its
sources two copies of everything.
"""

def _linker_inputs(deps):
    return depset(
        order = "topological",
        transitive = [dep[CcInfo].linking_context.linker_inputs for dep in deps],
    ).to_list()

def _headers_of(deps):
    infos = [dep[CcInfo] for dep in deps]
    return cc_common.merge_cc_infos(cc_infos = infos).compilation_context

def _whole_archives_impl(ctx):
    toolchain = ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    inputs = []
    archives = []
    for linker_input in _linker_inputs(ctx.attr.deps):
        owner = linker_input.owner
        if owner.workspace_name == "abseil":
            continue
        if owner.workspace_name:
            inputs.append(linker_input)
            continue
        found = [library.pic_static_library for library in linker_input.libraries]
        archives += found
        inputs.append(cc_common.create_linker_input(
            owner = owner,
            libraries = depset([
                cc_common.create_library_to_link(
                    actions = ctx.actions,
                    alwayslink = True,
                    cc_toolchain = toolchain,
                    feature_configuration = features,
                    pic_static_library = archive,
                )
                for archive in found
            ]),
            user_link_flags = depset(linker_input.user_link_flags),
        ))
    return [
        CcInfo(
            compilation_context = _headers_of(ctx.attr.deps),
            linking_context = cc_common.create_linking_context(linker_inputs = depset(inputs)),
        ),
        DefaultInfo(files = depset(archives)),
    ]

whole_archives = rule(
    implementation = _whole_archives_impl,
    attrs = {
        "deps": attr.label_list(mandatory = True, providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
)

def _linked_with_impl(ctx):
    held = [linker_input.owner for linker_input in _linker_inputs(ctx.attr.held)]
    own = [
        linker_input
        for linker_input in _linker_inputs(ctx.attr.deps)
        if linker_input.owner not in held and linker_input.owner.workspace_name != "abseil"
    ]
    return [CcInfo(
        compilation_context = _headers_of(ctx.attr.deps),
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(
                own + _linker_inputs(ctx.attr.library),
                order = "topological",
            ),
        ),
    )]

linked_with = rule(
    implementation = _linked_with_impl,
    attrs = {
        "deps": attr.label_list(mandatory = True, providers = [CcInfo]),
        "held": attr.label_list(mandatory = True, providers = [CcInfo]),
        "library": attr.label_list(mandatory = True, providers = [CcInfo]),
    },
)

def linked_with_weft(name, deps, **kwargs):
    """`deps` for programs that are linked with libweft.so."""
    linked_with(
        name = name,
        held = ["//api"],
        library = [
            "//api:library",
            "@abseil//:shared",
        ],
        deps = deps,
        **kwargs
    )
