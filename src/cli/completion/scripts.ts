export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Written with @{ for the shell's braces, which are not JavaScript's.
 * Each asks `cellar completion words` with the words up to the cursor; `:files` is for the shell to do.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: String.raw`# cellar: completion for bash
_cellar() {
  local -a words=()
  local word line at=-1 i
  # Bash cuts words at "="; here they are put together again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=@{COMP_WORDS[i]}
    if ((at >= 0)) && [[ $word == "=" || @{COMP_WORDS[i - 1]} == "=" ]]; then
      words[at]+=$word
    else
      words[++at]=$word
    fi
  done
  local current=@{words[at]}
  local before=
  if [[ $current == --*=* && $COMP_WORDBREAKS == *=* ]]; then before=@{current%%=*}=; fi
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "@{current#"$before"}")
    elif [[ -n $line ]]; then
      line=@{line%%$'\t'*}
      COMPREPLY+=("@{line#"$before"}")
    fi
  done < <("@{COMP_WORDS[0]}" completion words -- "@{words[@]}" 2>/dev/null)
}
complete -F _cellar cellar
`,
  zsh: String.raw`#compdef cellar
# cellar: completion for zsh
_cellar() {
  local line files=0
  local -a found
  for line in "@{(@f)$("@{words[1]}" completion words -- "@{(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files) files=1 ;;
      ?*)
        line=@{line//:/\\:}
        found+=("@{line/$'\t'/:}")
        ;;
    esac
  done
  (($#found)) && _describe cellar found
  if ((files)); then
    compset -P '--*='
    _files
  fi
}
if [[ $funcstack[1] == _cellar ]]; then
  _cellar "$@"
else
  compdef _cellar cellar
fi
`,
  fish: `# cellar: completion for fish
function __cellar_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] completion words -- $before[2..] "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
        else
            echo $line
        end
    end
end
complete -c cellar -f -a '(__cellar_complete)'
`,
};

export function completionScript(shell: Shell): string {
  return SCRIPTS[shell].replaceAll("@{", "\u0024{");
}
