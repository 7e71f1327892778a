"""What CMake asks an interpreter that it builds the extension for: tag, headers, suffix, definition
of the limited API."""

import sys
import sysconfig

if sys.version_info < (3, 10):
    sys.exit(
        f"{sys.executable}: Python {sys.version.split()[0]}, expected 3.10 or later, which "
        "nanobind needs"
    )
stable = sys.version_info >= (3, 12)
tag = "abi3" if stable else f"cp3{sys.version_info[1]}"
suffix = ".abi3.so" if stable else sysconfig.get_config_var("EXT_SUFFIX")
print(
    tag,
    sysconfig.get_path("include"),
    suffix,
    "Py_LIMITED_API=0x030C0000" if stable else "",
    sep=";",
)
