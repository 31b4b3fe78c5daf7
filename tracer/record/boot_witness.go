//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
)

const (
	// witnessTime is how long each of the boot's other witnesses may take at the end; at shutdown, when
	// systemd waits 15 s for all of it, shutdownTime.
	witnessTime  = 30 * time.Second
	shutdownTime = 5 * time.Second
	// journalBytes is how much of the journal's text is kept.
	journalBytes = 4 << 20
)

// unitID is the unit's name, which its properties begin with.
func unitID(e *event.Unit) string {
	for _, p := range splitTail(e.TailBytes()) {
		if name, ok := strings.CutPrefix(p, "Id="); ok {
			return name
		}
	}
	return ""
}

func splitTail(tail []byte) []string {
	return strings.Split(strings.TrimSuffix(string(tail), "\x00"), "\x00")
}

// readKernelLog writes the kernel's new lines. It is done along the way, since the kernel's buffer is
// small where much is logged.
func (b *bootRecording) readKernelLog() error {
	if b.kernel == nil {
		return nil
	}
	return b.kernel.Read(func(e *event.KernelLog) error { return b.recorder.writer.Event(e) })
}

// end asks systemd and the journal what they saw. One that can't be asked leaves a gap and a word.
func (b *bootRecording) end(reason string) error {
	b.settle(true)
	b.ending = true
	writer, notice := b.recorder.writer, b.recorder.options.Notice
	if err := errors.Join(b.milestoneWatch.end(reason), b.readKernelLog()); err != nil {
		return err
	}
	write := func(e event.Event) error {
		b.answerAll() // all this can take a while
		if err := writer.Event(e); err != nil {
			return &writeError{err}
		}
		return nil
	}
	limit := witnessTime
	if reason == unix.SignalName(unix.SIGTERM) {
		limit = shutdownTime
	}
	var failed *writeError
	for _, ask := range []func(context.Context, func(event.Event) error) error{askSystemd, b.askJournal} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := ask(ctx, write)
		cancel()
		if errors.As(err, &failed) {
			return failed.error
		}
		if err != nil && !errors.Is(err, system.ErrNoSystemd) {
			notice("%v", err)
		}
	}
	return nil
}

// A writeError is one of the file's, not of who was asked.
type writeError struct{ error }

func askSystemd(ctx context.Context, write func(event.Event) error) error {
	s, err := system.ConnectSystemd(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	manager, err := s.Manager(ctx)
	if err != nil {
		return err
	}
	if err := write(manager); err != nil {
		return err
	}
	return s.Units(ctx, func(e *event.Unit) error { return write(e) })
}

func (b *bootRecording) askJournal(ctx context.Context, write func(event.Event) error) error {
	if b.options.NoJournal {
		return nil
	}
	reader := system.JournalReader{Limit: journalBytes}
	err := reader.Read(ctx, func(e *event.Journal) error { return write(e) })
	if errors.Is(err, system.ErrJournalCut) {
		return fmt.Errorf("%w of %d MiB", err, journalBytes>>20)
	}
	return err
}
