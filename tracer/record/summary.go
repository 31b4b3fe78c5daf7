//go:build linux

package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// summary tells in a few lines what was recorded, for the end of a recording.
func (r *recorder) summary(reason string) string {
	var b strings.Builder
	recorded := time.Duration(r.ended - r.start)
	fmt.Fprintf(&b, "%s: recorded %.1f s, %.1f MB written to %s", reason, recorded.Seconds(),
		float64(r.writer.Size())/1e6, r.options.Output)
	var lost uint64
	for _, l := range r.losses.total(r.rings, programCosts(r.programs, 0), r.probeOf()) {
		lost += l.Count
	}
	if lost > 0 {
		fmt.Fprintf(&b, "; %d events LOST (--buffer makes room for more)", lost)
	}
	for _, s := range r.statuses {
		if s.Status == tracefile.StatusOff && s.Reason != offByOption && s.Reason != offWhenIdle {
			fmt.Fprintf(&b, "\nprobe %s is off: %s", s.Name, s.Reason)
		}
	}
	return b.String()
}
