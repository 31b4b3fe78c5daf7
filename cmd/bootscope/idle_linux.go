package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/export/idle"
	"github.com/bootscope/bootscope/tracer/record"
)

// recordIdle records one window, or one with each governor, and shows what was found.
func recordIdle(cmd *cobra.Command, o *idleOptions) error {
	w := cmd.ErrOrStderr()
	if err := settle(w, o.settle); err != nil {
		return err
	}
	if len(o.governors) > 0 {
		return compareGovernors(cmd, o)
	}
	i, err := recordWindow(cmd, o)
	if err != nil {
		return err
	}
	return o.show(cmd.OutOrStdout(), i)
}

// recordWindow records one window and reads it.
func recordWindow(cmd *cobra.Command, o *idleOptions) (*idle.Idle, error) {
	w := cmd.ErrOrStderr()
	file := o.output
	if file == "" {
		dir, err := os.MkdirTemp(memoryDir(), "bootscope-idle-")
		if err != nil {
			return nil, fmt.Errorf("making a directory for the trace: %w", err)
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "idle.bst")
	}
	options := record.Options{
		Output: file, Force: o.force, Duration: o.duration, Idle: true, Tool: recordingTool(), Cache: startCache,
		SampleHz: record.DefaultSampleHz, BufferBytes: record.DefaultBufferBytes,
		Notice: func(format string, args ...any) { fmt.Fprintf(w, "bootscope: "+format+"\n", args...) },
	}
	watch := newIdleWatch(cmd, o)
	watch.addTo(&options)
	defer watch.close()
	if _, err := record.Record(options); err != nil {
		return nil, err
	}
	watch.close()
	return readIdle(cmd, file)
}

// memoryDir is a directory that is kept in memory, so that writing the trace wakes neither disk nor kernel
// threads; "" for the usual one if there is none.
func memoryDir() string {
	const tmpfsMagic, enough = 0x01021994, 64 << 20
	for _, dir := range []string{os.TempDir(), "/dev/shm", "/run"} {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Type == tmpfsMagic && fs.Bavail*uint64(fs.Bsize) >= enough &&
			unix.Access(dir, unix.W_OK) == nil {
			return dir
		}
	}
	return ""
}

// idleWatch shows how far the recording is, and with --interval a table now and then. It acts only when the
// recorder is awake anyway.
type idleWatch struct {
	w     io.Writer
	o     *idleOptions
	begun time.Time
	shown bool
	table *idle.Watch // nil without --interval
}

func newIdleWatch(cmd *cobra.Command, o *idleOptions) *idleWatch {
	v := &idleWatch{o: o, begun: time.Now()}
	w := cmd.ErrOrStderr()
	if o.interval > 0 {
		out := cmd.OutOrStdout()
		if o.json {
			out = w // standard output is for the JSON
		}
		v.table = idle.NewWatch(out, isTerminal(out), o.interval, idle.Options{Top: o.top, ByUnit: o.by == "unit"})
	}
	fmt.Fprintf(w, "bootscope: recording for %s; Ctrl-C ends it sooner\n", o.duration)
	if isTerminal(w) && v.table == nil {
		v.w = w
	}
	return v
}

// addTo makes the recorder tell.
func (v *idleWatch) addTo(options *record.Options) {
	if v.table != nil {
		options.Interval, options.Live = v.o.interval, v.table.Source()
		options.Drained = v.table.Drained
	} else if v.w != nil {
		options.Drained = v.progress
	}
}

func (v *idleWatch) progress(uint64) error {
	v.shown = true
	fmt.Fprintf(v.w, "\r%.0f s of %.0f s\x1b[K", min(time.Since(v.begun), v.o.duration).Seconds(), v.o.duration.Seconds())
	return nil
}

// close takes the progress away.
func (v *idleWatch) close() {
	if v.shown {
		fmt.Fprint(v.w, "\r\x1b[K")
		v.shown = false
	}
}
