"""Prints the layout of every struct, enumerator and type of C headers.

    layouts.py HEADER...     from the root that their include lines start at

The members are read from the text, so that none can be forgotten; a C compiler says
where they lie.
"""

import re
import subprocess
import sys
import tempfile

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"typedef struct \w+ \{(.*?)\n\} (\w+);", re.DOTALL)
_ENUM = re.compile(r"enum \{(.*?)\}", re.DOTALL)


def members_of(body):
    names = []
    for declaration in body.split(";"):
        if not declaration.strip():
            continue
        function = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        name = function or re.search(r"(\w+)(\[\w+\])?\s*$", declaration.strip())
        names.append(name.group(1))
    return names


def main():
    lines = []
    for header in sys.argv[1:]:
        with open(header, encoding="utf-8") as file:
            text = _COMMENT.sub("", file.read())
        for body, struct in _STRUCT.findall(text):
            lines.append('printf("%s: %%zu bytes\\n", sizeof(%s));' % (struct, struct))
            for member in members_of(body):
                lines.append('printf("  %%zu %s\\n", offsetof(%s, %s));' % (member, struct, member))
        for body in _ENUM.findall(text):
            for name in re.findall(r"^\s*(\w+)", body, re.MULTILINE):
                lines.append('printf("%s = %%d\\n", (int)%s);' % (name, name))
    with tempfile.TemporaryDirectory() as folder:
        source = folder + "/layouts.c"
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stddef.h>\n#include <stdio.h>\n")
            file.writelines('#include "%s"\n' % header for header in sys.argv[1:])
            file.write("int main(void) {\n%s\nreturn 0;\n}\n" % "\n".join(lines))
        subprocess.run(
            ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I.", source,
             "-o", folder + "/layouts"], check=True)
        subprocess.run([folder + "/layouts"], check=True)


if __name__ == "__main__":
    main()
