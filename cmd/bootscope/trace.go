package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// oneTrace is the Args of a subcommand that reads a trace.
func oneTrace(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("no trace given: name a file, or - for standard input")
	case 1:
		return nil
	}
	return fmt.Errorf("one trace at a time: %q is one too many", args[1])
}

// readTrace opens a trace and gives it to work, with progress on the terminal unless work itself fills
// that while it reads.
func readTrace(cmd *cobra.Command, name string, fills bool, work func(tracefile.Source) error) (tracefile.Source, error) {
	file, err := tracefile.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := newProgress(cmd.ErrOrStderr(), name, file)
	if fills {
		p.w = nil
	}
	defer p.clear()
	return file, work(p)
}

// maxWarnings is how many damaged places are told one by one.
const maxWarnings = 5

// warnIncomplete says what is missing from a trace that was read, or the output would be taken for whole.
func warnIncomplete(w io.Writer, name string, source tracefile.Source) {
	problems := source.Problems()
	for i, p := range problems {
		if i == maxWarnings {
			fmt.Fprintf(w, "bootscope: %s: %d more places are damaged\n", name, len(problems)-i)
			break
		}
		fmt.Fprintf(w, "bootscope: %s: offset %d: %s; skipped %d bytes\n", name, p.Offset, p.Cause, p.Length)
	}
	if source.Trailer() == nil {
		synced := ""
		if every := time.Duration(source.Header().Sync); every > 0 {
			synced = fmt.Sprintf("; it was brought onto the disk every %v, which is what a power cut takes", every)
		}
		fmt.Fprintf(w, "bootscope: %s is incomplete: the recording was cut off before its end%s\n", name, synced)
	}
}

// writeOutput creates a file ("-" is standard output), lets write fill it, and gives it its name when
// that went well. It returns the file's size.
func writeOutput(name string, force bool, write func(io.Writer) error) (size int64, err error) {
	out, err := tracefile.Create(name, force)
	if err != nil {
		return 0, err
	}
	defer out.Abort()
	counter := &countingWriter{w: out}
	if err := write(counter); err != nil {
		return counter.n, err
	}
	return counter.n, out.Commit()
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// isTerminal tells whether a person watches a stream.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
