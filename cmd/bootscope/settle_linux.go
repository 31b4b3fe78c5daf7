package main

import (
	"context"
	"fmt"
	"io"

	"github.com/bootscope/bootscope/tracer/system"
)

// settle warns when the boot is not over yet, or waits until it is.
func settle(w io.Writer, wait bool) error {
	ctx := context.Background()
	reason := system.Unsettled(ctx)
	switch {
	case reason == "":
		return nil
	case wait:
		fmt.Fprintf(w, "bootscope: waiting for the end of the boot: %s\n", reason)
		return system.Settle(ctx)
	}
	fmt.Fprintf(w, "bootscope: the boot is not over: %s; --settle waits for that\n", reason)
	return nil
}
