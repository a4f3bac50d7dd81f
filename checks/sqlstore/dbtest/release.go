//go:build release

package dbtest

const release = true
