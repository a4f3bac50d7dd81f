package main

import "strings"

// quoteShell quotes a text for bash and zsh.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quoteFish quotes a text for fish.
func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// bashValue returns a value in the terms of the function _rollcall_offer, or "" if any text is allowed.
func bashValue(v completionValue) string {
	switch {
	case v.Files:
		return "file"
	case v.Dirs:
		return "directory"
	case len(v.Words) > 0:
		return "words " + strings.Join(v.Words, " ")
	}
	return ""
}

// zshFlag returns a flag as one or two arguments of the function _arguments.
func zshFlag(f completionFlag) string {
	exclude, long, short := "", "--"+f.Name, "-"+f.Short
	switch {
	case f.Name == "help" || f.Name == "version":
		exclude = "(- *)"
	case f.Repeats:
		exclude = "*"
	case f.Short != "":
		exclude = "(" + short + " " + long + ")"
	}
	rest := "[" + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(f.Help) + "]"
	if f.Value != nil {
		long, short = long+"=", short+"+"
		rest += ":" + zshValue(*f.Value)
	}
	if f.Short == "" {
		return quoteShell(exclude + long + rest)
	}
	return quoteShell(exclude+short+rest) + " " + quoteShell(exclude+long+rest)
}

// zshArgument returns a positional argument as an argument of the function _arguments.
func zshArgument(v completionValue) string {
	value := zshValue(v)
	if value == v.Label+": " {
		value = v.Label + `:_guard "^-*" ` + v.Label // a message alone would keep flags from being inserted
	}
	if v.Repeats {
		return quoteShell("*:" + value)
	}
	return quoteShell(":" + value)
}

// zshValue returns the message and the action of a value for the function _arguments.
func zshValue(v completionValue) string {
	message := strings.ReplaceAll(v.Label, ":", `\:`) + ":"
	switch {
	case v.Files:
		return message + "_files"
	case v.Dirs:
		return message + "_files -/"
	case len(v.Words) > 0:
		return message + "(" + strings.Join(v.Words, " ") + ")"
	}
	return message + " "
}

// fishValue returns the options of the command complete for a value.
func fishValue(v completionValue) string {
	switch {
	case v.Files:
		return "-r -F"
	case v.Dirs:
		return "-x -a '(__fish_complete_directories)'"
	case len(v.Words) > 0:
		return "-x -a " + quoteFish(strings.Join(v.Words, " "))
	}
	return "-x"
}
