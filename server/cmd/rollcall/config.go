package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// fileSuffix ends the variable that names the file with the value of a secret flag.
const fileSuffix = "_FILE"

// unsetEmpty unsets empty ROLLCALL_ variables, because container tools often set variables that should be unset.
func unsetEmpty() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, console.EnvPrefix) && value == "" {
			_ = os.Unsetenv(name) // cannot fail for a name of the environment
		}
	}
}

// validVariables refuses ROLLCALL_ variables that are not UTF-8.
func validVariables() error {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, console.EnvPrefix) && !utf8.ValidString(value) {
			return console.Usagef("%s is not valid UTF-8", name)
		}
	}
	return nil
}

// isSecret reports whether a flag holds a secret, which may also come from a file.
func isSecret(flag *kong.Flag) bool { return flag.Tag != nil && flag.Tag.Has("secret") }

// secretFiles reads secret flags from the files that the environment names, if the command line does not set the flags.
func secretFiles() kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if !isSecret(flag) || len(flag.Envs) == 0 {
			return nil, nil
		}
		name := flag.Envs[0]
		path, ok := os.LookupEnv(name + fileSuffix)
		if !ok {
			return nil, nil
		}
		if _, both := os.LookupEnv(name); both {
			return nil, fmt.Errorf("%s and %s are both set", name, name+fileSuffix)
		}
		secret, err := console.ReadSecret(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name+fileSuffix, err)
		}
		return secret, nil
	})
}

// variables returns the variables of all flags, and the variables that name the files of secrets.
func variables(node *kong.Node) (all, secret []string) {
	for _, flag := range node.Flags {
		switch name := variableOf(flag); {
		case name != "" && isSecret(flag):
			secret = append(secret, name, name+fileSuffix)
		case name != "":
			all = append(all, name)
		}
	}
	for _, child := range node.Children {
		a, s := variables(child)
		all, secret = append(all, a...), append(secret, s...)
	}
	return append(all, secret...), secret
}

// proxy is a network whose forwarding headers are trusted.
type proxy struct{ netip.Prefix }

// UnmarshalText reads a network in CIDR notation, or one address.
func (p *proxy) UnmarshalText(text []byte) error {
	value := strings.TrimSpace(string(text))
	if addr, err := netip.ParseAddr(value); err == nil && addr.Zone() == "" {
		p.Prefix = netip.PrefixFrom(addr, addr.BitLen())
		return nil
	}
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return fmt.Errorf("%q is not a network in CIDR notation, such as 10.0.0.0/8", value)
	}
	p.Prefix = prefix.Masked()
	return nil
}
