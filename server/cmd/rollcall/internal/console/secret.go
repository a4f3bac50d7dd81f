package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// ReadSecret returns the secret in a file: its content without the line break at its end.
func ReadSecret(path string) (string, error) {
	content, err := ReadFile(path)
	if err != nil {
		return "", err
	}
	secret, err := SecretOf(strings.NewReader(content), path)
	switch {
	case err != nil:
		return "", err
	case strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s has more than one line; write the secret alone into it", path)
	case strings.HasPrefix(secret, ByteOrderMark):
		return "", fmt.Errorf("%s begins with a byte order mark; save it as UTF-8 without one", path)
	}
	return secret, nil
}

// ReadFile returns the beginning of a file, one byte more than a secret may have.
func ReadFile(path string) (string, error) {
	content, err := ReadStart(path, maxSecretFile+1, secretWait, func() (*os.File, error) { return os.Open(path) })
	return string(content), err
}

// ReadStart returns the beginning of a file, at most limit bytes. It does not wait longer than wait, as for the writer of a named pipe,
// which process substitution is too, or for somebody at a terminal.
func ReadStart(path string, limit int64, wait time.Duration, open func() (*os.File, error)) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		file, err := open()
		if err != nil {
			done <- result{err: err}
			return
		}
		defer file.Close()
		content, err := io.ReadAll(io.LimitReader(file, limit))
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-time.After(wait):
		return nil, fmt.Errorf("%s cannot be read within %v", path, wait)
	}
}

// ReadSecretInside returns the secret in a regular file of a directory.
func ReadSecretInside(root *os.Root, path string) (string, error) {
	info, err := root.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // another process may wait for ever to write to a pipe, or write for ever
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	content, err := ReadStart(path, maxSecretFile+1, secretWait, func() (*os.File, error) { return root.Open(path) })
	if err != nil {
		return "", err
	}
	return SecretOf(bytes.NewReader(content), path)
}

// SecretOf reads a value without the line break at its end. Errors show its source, not the value.
func SecretOf(r io.Reader, name string) (string, error) {
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

const (
	// maxSecretFile bounds the size of a file with a secret, in bytes.
	maxSecretFile = 64 << 10
	// secretWait bounds the time to read it.
	secretWait = 2 * time.Second

	ByteOrderMark = "\ufeff"
)
