#!/usr/bin/env bash
# The first runs of command_lines.py; it goes on for as long as it is told to by hand.
set -euo pipefail
exec python3 tests/fuzz/command_lines.py --tools=tools --seeds=tests/fuzz/seeds --runs=60 \
  --seconds=20 --timeout=60
