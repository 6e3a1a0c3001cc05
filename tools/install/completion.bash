# Completion of weft and weft-* in bash (and in zsh, after bashcompinit): tools, flags
# as each tool lists them, and files.
_weft() {
  local word="${COMP_WORDS[COMP_CWORD]}" tool="${COMP_WORDS[0]##*/}" program
  program="${COMP_WORDS[0]}"
  COMPREPLY=()
  if [[ "$tool" == weft ]]; then
    if ((COMP_CWORD == 1)); then
      local path
      for path in "$(dirname "$(readlink -f "$(type -P "$program")")")"/weft-*; do
        COMPREPLY+=("${path##*/weft-}")
      done
      mapfile -t COMPREPLY < <(compgen -W "${COMPREPLY[*]}" -- "$word")
      return
    fi
    program="$program ${COMP_WORDS[1]}"
  fi
  if [[ "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$($program --help=flags 2>/dev/null)" -- "$word")
    [[ "${COMPREPLY[0]-}" == *= ]] && compopt -o nospace 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _weft weft weft-bench weft-compile weft-conformance weft-diff \
  weft-make_model weft-opt weft-quantize weft-reduce weft-run weft-trace
