# fish completion for rollcall. "rollcall completion fish" prints it.

function __rollcall_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    set -l flag (string match -r -- '^--[^=]*=' $word)
    set -l path (string replace -- "$flag" '' $word)
    switch "$answer[1]"
        case :file
            __fish_complete_path $path | string replace -r '^' -- "$flag"
        case :directory
            __fish_complete_directories $path '' | string replace -r '^' -- "$flag"
        case ':command*'
            set -l rest $words[(math 1 + (string replace ':command ' '' $answer[1]))..-1]
            complete -C (string join ' ' -- (string escape -- $rest) $word)
        case '*'
            printf '%s\n' $answer
    end
end

complete -c rollcall -f -a '(__rollcall_complete)'
