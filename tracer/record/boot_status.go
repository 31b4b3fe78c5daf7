//go:build linux

package record

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// answerAll answers who has asked since the last round.
func (b *bootRecording) answerAll() {
	if b.control == nil {
		return
	}
	for {
		select {
		case r := <-b.control.Requests:
			switch r.Ask {
			case bootunit.AskStop:
				b.asked = append(b.asked, r)
			case bootunit.AskJoin:
				r.Answer(b.join(r.Of))
			default:
				r.Answer(b.status())
			}
		default:
			return
		}
	}
}

// status is what the recording says of itself.
func (b *bootRecording) status() bootunit.Status {
	r, now := b.recorder, system.BootTime()
	s := bootunit.Status{Since: float64(r.start) / 1e9, For: float64(now-r.start) / 1e9, WaitsFor: b.waitsFor(now), Off: []string{}}
	if r.writer != nil {
		s.Bytes = r.writer.Size()
	}
	if b.output.file != nil {
		s.File = b.output.file.Name()
	} else if b.output.why != nil {
		s.NotWritten = b.output.why.Error()
	}
	for _, l := range r.losses.total(r.rings, programCosts(r.programs, 0), r.probeOf()) {
		s.Lost += l.Count
	}
	for _, p := range r.statuses {
		if p.Status == tracefile.StatusOff {
			s.Off = append(s.Off, p.Name)
		}
	}
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		s.CPU, s.MaxRSS = float64(usage.Utime.Nano()+usage.Stime.Nano())/1e9, int64(usage.Maxrss)<<10
	}
	return s
}

// waitsFor tells what will end the recording.
func (b *bootRecording) waitsFor(now uint64) string {
	what := ""
	switch {
	case b.ending:
		return "systemd and the journal to tell what they saw of the boot"
	case b.quiet == nil:
		for _, m := range b.sought {
			if m.Name == b.until {
				what = fmt.Sprintf("milestone %s (%s)", m.Name, m.Spec)
			}
		}
	case b.quiet.reached(now):
		what = "systemd to finish the boot"
	default:
		what = b.quiet.describe(now)
	}
	return fmt.Sprintf("%s; at most until %.0f s after it began", what, b.recorder.options.Duration.Seconds())
}
