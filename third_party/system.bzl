"""Exposes libraries of the distribution as external repositories.

system_library() looks for the headers and the libraries it is given, stops
with the name of the Debian package when one is missing, and writes the
repository's BUILD file from a template. In the template

    %{static_libraries}

stands for the quoted linker options, one list element each, that link the
static libraries found.

Headers are used where the distribution puts them, in the compiler's own
search path. They are therefore system headers: they raise no warnings, cost
nothing to stage in a sandbox, and are not tracked; `bazel clean` after an
upgrade of the distribution's libraries.
"""

_HEADER_DIRS = ["/usr/local/include", "/usr/include"]
_LIBRARY_DIRS = ["/usr/local/lib", "/usr/lib/%s", "/lib/%s", "/usr/lib64", "/usr/lib"]

def _compiler(ctx):
    compiler = ctx.os.environ.get("CC") or "gcc"
    found = ctx.path(compiler).exists if "/" in compiler else ctx.which(compiler) != None
    if not found:
        fail("@%s: no C++ compiler; install the Debian package g++ (./bazelw does so)." % ctx.name)
    return compiler

def _library_dirs(ctx):
    multiarch = ctx.execute([_compiler(ctx), "-print-multiarch"]).stdout.strip()
    if not multiarch:
        multiarch = ctx.execute(["gcc", "-print-multiarch"]).stdout.strip()
    return [d.replace("%s", multiarch) for d in _LIBRARY_DIRS if multiarch or "%s" not in d]

def _missing(ctx, what):
    fail(("\n\n@%s: %s is not installed. It is part of the Debian package %s:\n\n" +
          "    apt-get install %s\n\n" +
          "./bazelw installs every package listed in packages.txt.\n") %
         (ctx.name, what, ctx.attr.package, ctx.attr.package))

def _find(ctx, dirs, file):
    for directory in dirs:
        path = ctx.path(directory + "/" + file)
        if path.exists:
            return str(path)
    return None

def _find_static(ctx, dirs, name):
    """Paths of lib<name>.a; a trailing `*` in the name matches any ending."""
    if not name.endswith("*"):
        found = _find(ctx, dirs, "lib%s.a" % name)
        return [found] if found else []
    prefix = "lib" + name[:-1]
    for directory in dirs:
        path = ctx.path(directory)
        if not path.exists:
            continue
        found = [
            str(entry)
            for entry in path.readdir()
            if entry.basename.startswith(prefix) and entry.basename.endswith(".a")
        ]
        if found:
            return sorted(found)
    return []

def _system_library_impl(ctx):
    for header in ctx.attr.headers:
        if not _find(ctx, _HEADER_DIRS, header):
            _missing(ctx, "the header <%s>" % header)
    dirs = _library_dirs(ctx)
    for library in ctx.attr.libraries:
        if not _find(ctx, dirs, "lib%s.so" % library):
            _missing(ctx, "the library lib%s.so" % library)
    archives = []
    for library in ctx.attr.static_libraries:
        found = _find_static(ctx, dirs, library)
        if not found:
            _missing(ctx, "the library lib%s.a" % library)
        archives.extend(found)
    ctx.template(
        "BUILD.bazel",
        ctx.attr.build_file,
        {"%{static_libraries}": ", ".join(['"%s"' % a for a in archives])},
        executable = False,
    )

system_library = repository_rule(
    implementation = _system_library_impl,
    doc = "A repository around a library that the distribution installs.",
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "headers": attr.string_list(doc = "Headers that must exist."),
        "libraries": attr.string_list(doc = "Shared libraries that must exist."),
        "package": attr.string(mandatory = True, doc = "The Debian package."),
        "static_libraries": attr.string_list(
            doc = "Static libraries that must exist; `name*` takes all that match.",
        ),
    },
    environ = ["CC"],
    local = True,
)
