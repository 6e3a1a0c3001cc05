"""The version, as file names say it; api/version.h must agree."""

WEFT_VERSION = "0.1"
