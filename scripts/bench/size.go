//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// benchSize says what is in the binary for arm64, which is not the one that is measured here.
func benchSize(*setup) error {
	fmt.Fprintln(output)
	cmd := exec.Command("go", "run", "./scripts/size")
	cmd.Stdout, cmd.Stderr = output, os.Stderr
	return cmd.Run()
}
