package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

// visibleCommands returns the commands directly below a node.
func visibleCommands(node *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(node.Children), func(child *kong.Node) bool { return child.Hidden })
}

// visibleFlags returns the flags of a node, without those of its parents.
func visibleFlags(node *kong.Node) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(node.Flags), func(flag *kong.Flag) bool { return flag.Hidden })
}

// findCommand returns the command of a name directly below a node, or nil.
func findCommand(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// flagGroup is a group of flags as the help shows it.
type flagGroup struct {
	title string // "" for flags without a group
	flags []*kong.Flag
}

// groupFlags groups flags. Those without a group come first.
func groupFlags(flags []*kong.Flag) []flagGroup {
	groups := []flagGroup{{}}
	for _, flag := range flags {
		title := ""
		if flag.Group != nil {
			title = flag.Group.Title
		}
		i := slices.IndexFunc(groups, func(g flagGroup) bool { return g.title == title })
		if i < 0 {
			i = len(groups)
			groups = append(groups, flagGroup{title: title})
		}
		groups[i].flags = append(groups[i].flags, flag)
	}
	return slices.DeleteFunc(groups, func(g flagGroup) bool { return len(g.flags) == 0 })
}
