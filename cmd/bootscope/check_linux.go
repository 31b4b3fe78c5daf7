package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func newCheckCommand() *cobra.Command {
	var asJSON, fragment bool
	var options record.Options
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what this kernel can record, and what to switch on",
		Long: `Attach every probe once and take it off again, and say of each whether it
works, works in a lesser way or is off, why, and which kernel options would help.
Nothing is recorded. It needs the same rights as record.`,
		Example: `  sudo bootscope check
  bootscope check --kernel-config >> bootscope.cfg     for a Yocto kernel
  sudo bootscope check --btf vmlinux                   for a kernel without BTF
  sudo bootscope check --json | jq '.probes[] | select(.status != "on")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if fragment {
				_, err := fmt.Fprintln(out, strings.Join(record.KernelFragment(), "\n"))
				return err
			}
			options.SampleHz, options.BufferBytes = record.DefaultSampleHz, record.DefaultBufferBytes
			options.Idle = true // every probe there is
			check, err := record.CheckKernel(options)
			if err != nil {
				return err
			}
			if asJSON {
				return writeCheckJSON(out, check)
			}
			writeCheck(out, check)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON (schema bootscope.check/1)")
	f.BoolVar(&fragment, "kernel-config", false, "print the options that a kernel needs for everything, and no more")
	f.StringVar(&options.BTF, "btf", "", btfUsage)
	f.BoolVar(&options.NoBTF, "no-btf", false, "check as on a kernel without BTF")
	return cmd
}

func writeCheck(w io.Writer, c *record.Check) {
	fmt.Fprintf(w, "Linux %s\n", c.Kernel)
	for _, p := range c.Probes {
		fmt.Fprintf(w, "%-8s %-6s %s\n", p.Name, p.Status, p.Via)
		for _, reason := range strings.Split(p.Reason, "; ") {
			if reason != "" {
				writeIndented(w, reason)
			}
		}
		if len(p.Config) > 0 {
			writeIndented(w, "for its best way the kernel lacks "+strings.Join(p.Config, ", "))
		}
	}
	for _, hint := range c.Hints {
		fmt.Fprintln(w, "Note:")
		writeIndented(w, hint+".")
	}
}

// writeIndented writes a text in lines of at most 80 columns, below the column of the probes' ways.
func writeIndented(w io.Writer, text string) {
	const indent = "                "
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > 79 && line != indent {
			fmt.Fprintln(w, line)
			line = indent + "  "
		}
		if line != indent && line != indent+"  " {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

func writeCheckJSON(w io.Writer, c *record.Check) error {
	type probe struct {
		Name   string   `json:"name"`
		Status string   `json:"status"`
		Via    *string  `json:"via"`
		Reason *string  `json:"reason"`
		Config []string `json:"config"`
	}
	document := struct {
		Schema string   `json:"schema"`
		Kernel string   `json:"kernel"`
		Probes []probe  `json:"probes"`
		Hints  []string `json:"hints"`
	}{"bootscope.check/1", c.Kernel, []probe{}, append([]string{}, c.Hints...)}
	for _, p := range c.Probes {
		j := probe{Name: p.Name, Status: p.Status, Config: p.Config}
		if p.Status != tracefile.StatusOff {
			j.Via = &p.Via
		}
		if p.Reason != "" {
			j.Reason = &p.Reason
		}
		document.Probes = append(document.Probes, j)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
