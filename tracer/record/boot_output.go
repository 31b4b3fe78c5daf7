//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// bootOutput is a file that can't be created yet. What is written waits in memory until it can.
type bootOutput struct {
	store     *bootunit.Store
	limit     int // bytes that may wait
	syncEvery time.Duration
	synced    time.Time
	waiting   [][]byte
	bytes     int
	file      *tracefile.Output // nil while it waits
	behind    io.Writer
	why       error // that it can't be created
	refused   error // that nobody wants it
}

// Write never refuses what has to wait: full tells the recorder to stop.
func (o *bootOutput) Write(p []byte) (int, error) {
	if o.file != nil {
		n, err := o.behind.Write(p)
		return n, err
	}
	o.waiting = append(o.waiting, append([]byte(nil), p...))
	o.bytes += len(p)
	return len(p), nil
}

func (o *bootOutput) full() bool { return o.file == nil && o.bytes > o.limit }

// open creates the file if that is possible by now, and writes what has waited. It fails only if trying
// again is of no use.
func (o *bootOutput) open(notice func(string, ...any)) error {
	if o.file != nil {
		return o.sync()
	}
	if o.refused != nil {
		return o.refused
	}
	if o.file, o.why = o.store.Open(); o.why != nil {
		o.file = nil
		if errors.Is(o.why, bootunit.ErrSpent) || errors.Is(o.why, unix.ENOSPC) {
			return o.why
		}
		return nil
	}
	if o.store.Volatile() {
		notice("%s is in memory (tmpfs): the recording is lost at power-off; bootscope install --dir names another place", o.store.Dir)
	}
	o.behind = newBehind(o.file)
	for _, p := range o.waiting {
		if _, err := o.behind.Write(p); err != nil {
			return fmt.Errorf("writing what had waited in memory: %w", err)
		}
	}
	o.waiting = nil
	return o.sync()
}

// sync brings the file onto the disk, if that was asked for and it is time to. A power cut then costs
// no more than what came since.
func (o *bootOutput) sync() error {
	if o.syncEvery == 0 || time.Since(o.synced) < o.syncEvery {
		return nil
	}
	o.synced = time.Now()
	if err := unix.Fdatasync(int(o.file.Fd())); err != nil {
		return fmt.Errorf("bringing the recording onto the disk: %w", err)
	}
	return nil
}

// saveRetry is how long a finished recording waits for the disk. Another reason to stop ends that too.
const saveRetry = time.Minute

// save gives the finished file its name. While it waits it calls meanwhile.
func (o *bootOutput) save(stop *stopper, meanwhile func(), notice func(string, ...any)) (string, error) {
	for deadline := time.Now().Add(saveRetry); o.file == nil; {
		if err := o.open(notice); err != nil {
			return "", err
		}
		if o.file != nil {
			break
		}
		select {
		case <-stop.reasons:
			deadline = time.Time{}
		case <-time.After(time.Second):
			meanwhile()
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s is not writable: %w", o.store.Dir, o.why)
		}
	}
	return o.store.Save(o.file, time.Now())
}
