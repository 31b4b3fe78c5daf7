//go:build !linux

package main

import "github.com/spf13/cobra"

func bootCommands() []*cobra.Command {
	var commands []*cobra.Command
	for _, name := range []string{"install", "uninstall", "status", "stop"} {
		commands = append(commands, needsLinux(name))
	}
	return commands
}

// runAs has no other names here.
func runAs([]string) (status int, mine bool) { return 0, false }
