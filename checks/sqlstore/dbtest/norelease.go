//go:build !release

package dbtest

const release = false
