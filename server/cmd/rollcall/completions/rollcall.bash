# bash completion for rollcall. "rollcall completion bash" prints it.

_rollcall() {
    # Readline takes = and : for the ends of words. Here they are part of a word again; at holds where each word begins.
    local words=() at=() answer i word line glue=''
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word =~ ^[=:]+$ ]]; then
            glue=1
        elif [[ $glue ]]; then
            glue=''
        else
            words+=('') at+=("$i")
        fi
        words[${#words[@]}-1]+=$word
    done
    [[ $word =~ ^[=:]+$ ]] && word=''
    COMPREPLY=()
    mapfile -t answer < <("$1" __complete "${words[@]:1}" 2>/dev/null)
    case ${answer[0]} in
    :file) compopt -o default 2>/dev/null ;;
    :directory) compopt -o dirnames -o plusdirs 2>/dev/null ;;
    :command*)
        i=${at[${answer[0]#:command }]}
        if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        elif ((COMP_CWORD == i)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        else
            compopt -o default 2>/dev/null
        fi
        ;;
    *)
        for line in "${answer[@]%%$'\t'*}"; do
            [[ $line == "${words[-1]}"* ]] && COMPREPLY+=("${line#"${words[-1]%"$word"}"}")
        done
        ;;
    esac
}

complete -F _rollcall rollcall
