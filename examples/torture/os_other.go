//go:build !linux

package main

import (
	"os"
	"syscall"
)

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func freeze(*os.Process) {}
func thaw(*os.Process)   {}

func openFiles() int { return commonFiles }
