package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

const (
	// envPrefix begins the environment variable of every flag.
	envPrefix = "ROLLCALL_"
	// fileSuffix ends the variable that names the file with the value of a secret flag.
	fileSuffix = "_FILE"
	// maxSecretFile bounds the size of a file with a secret, in bytes.
	maxSecretFile = 64 << 10
	// secretWait bounds the time to read it.
	secretWait = 2 * time.Second

	byteOrderMark = "\ufeff"
)

// unsetEmpty unsets empty ROLLCALL_ variables, because container tools often set variables that should be unset.
func unsetEmpty() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) && value == "" {
			_ = os.Unsetenv(name) // cannot fail for a name of the environment
		}
	}
}

// validVariables refuses ROLLCALL_ variables that are not UTF-8.
func validVariables() error {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) && !utf8.ValidString(value) {
			return usagef("%s is not valid UTF-8", name)
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
		secret, err := readSecret(path)
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

// readSecret returns the secret in a file: its content without the line break at its end.
func readSecret(path string) (string, error) {
	content, err := readFile(path)
	if err != nil {
		return "", err
	}
	secret, err := secretOf(strings.NewReader(content), path)
	switch {
	case err != nil:
		return "", err
	case strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s has more than one line; write the secret alone into it", path)
	case strings.HasPrefix(secret, byteOrderMark):
		return "", fmt.Errorf("%s begins with a byte order mark; save it as UTF-8 without one", path)
	}
	return secret, nil
}

// readFile returns the beginning of a file, one byte more than a secret may have. It does not wait for ever, as for the
// writer of a named pipe.
func readFile(path string) (string, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		file, err := os.Open(path)
		if err != nil {
			done <- result{err: err}
			return
		}
		defer file.Close()
		content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return string(r.content), r.err
	case <-time.After(secretWait):
		return "", fmt.Errorf("%s cannot be read within %v", path, secretWait)
	}
}

// secretOf reads a value without the line break at its end. Errors show its source, not the value.
func secretOf(r io.Reader, name string) (string, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	switch {
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("%s is too large for a secret: the maximum is %d bytes", name, maxSecretFile)
	case secret == "":
		return "", fmt.Errorf("%s is empty", name)
	case !utf8.ValidString(secret):
		return "", fmt.Errorf("%s is not valid UTF-8", name)
	}
	return secret, nil
}

// address is an http or https URL without a trailing slash. The zero value means that there is none.
type address string

// UnmarshalText reads a URL to which paths can be appended.
func (a *address) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case strings.Contains(u.Hostname(), "%"): // an IPv6 zone is only valid on its own machine
		return errors.New("must not have a zone in its host")
	case u.User != nil:
		return errors.New("must not have a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return errors.New("must not have a query")
	case u.Fragment != "" || strings.HasSuffix(string(text), "#"):
		return errors.New("must not have a fragment")
	}
	*a = address(strings.TrimRight(u.String(), "/"))
	return nil
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
