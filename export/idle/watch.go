package idle

import (
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Watch shows a table of each interval of a recording that is still going on. It works when the recorder has
// drained its buffers: nothing wakes up for it.
type Watch struct {
	w        io.Writer
	terminal bool
	interval uint64
	o        Options

	live   *tracefile.Live
	tl     *timeline.Growing // nil until there is a header
	from   uint64            // when the interval began that is not yet shown
	before []reading
	height int // lines of the table on the terminal
}

// reading is what a thread had done by a moment.
type reading struct{ ran, wakeups uint64 }

// NewWatch makes a watch that writes to w; on a terminal each table replaces the one before.
func NewWatch(w io.Writer, terminal bool, interval time.Duration, o Options) *Watch {
	return &Watch{w: w, terminal: terminal, interval: uint64(interval), o: o, live: &tracefile.Live{}}
}

// Source is what the recorder is to fill.
func (v *Watch) Source() *tracefile.Live { return v.live }

// Drained takes in what was recorded before a moment, and shows the table if an interval is over.
func (v *Watch) Drained(before uint64) error {
	v.live.Release(before)
	if v.tl == nil {
		v.tl = timeline.Grow(v.live)
	}
	if err := v.tl.Update(); err != nil {
		return err
	}
	if v.from == 0 {
		v.from = v.tl.Start
	}
	// A drain comes a little after it is due.
	if before < v.from+v.interval-min(v.interval/10, uint64(100*time.Millisecond)) {
		return nil
	}
	err := v.show(before)
	v.from = before
	return err
}

// row is what a task or unit did in an interval.
type row struct {
	name string
	tid  uint32 // 0 for a unit
	reading
}

// show writes the table of the interval that ends now.
func (v *Watch) show(now uint64) error {
	rows, busy, recorder := v.rows(now)
	length := float64(now - v.from)
	cpus := float64(max(len(v.tl.Header.Online), 1))
	percent := func(ns uint64) float64 { return 100 * float64(ns) / length / cpus }
	n := len(rows)
	if v.o.Top > 0 {
		n = min(n, v.o.Top)
	}
	lines := []string{fmt.Sprintf("%9.1f s  busy %.2f %%, %.1f wake-ups/s; the recorder %.2f %% more", float64(now-v.tl.Start)/1e9,
		percent(busy.ran), float64(busy.wakeups)*1e9/length, percent(recorder.ran))}
	for _, r := range rows[:n] {
		id := ""
		if r.tid != 0 {
			id = fmt.Sprint(r.tid)
		}
		lines = append(lines, fmt.Sprintf("%9.2f %% %9.1f/s %7s  %s", percent(r.ran), float64(r.wakeups)*1e9/length, id, r.name))
	}
	return v.write(lines)
}

// write replaces the table before on a terminal.
func (v *Watch) write(lines []string) error {
	text := ""
	if v.terminal && v.height > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", v.height)
	}
	for _, l := range lines {
		text += prose.Cut(l, prose.Columns) + "\n"
	}
	v.height = len(lines)
	_, err := io.WriteString(v.w, text)
	return err
}

// rows returns what was done since the last table: most CPU time first, and in all; the recorder apart.
func (v *Watch) rows(now uint64) (rows []row, busy, recorder reading) {
	units := map[string]int{}
	for _, th := range v.tl.Threads {
		times := th.TimesAt(now)
		total := reading{times[timeline.Running], th.Wakeups}
		for th.Index >= len(v.before) {
			v.before = append(v.before, reading{})
		}
		did := reading{total.ran - v.before[th.Index].ran, total.wakeups - v.before[th.Index].wakeups}
		v.before[th.Index] = total
		switch {
		case th.Process != nil && th.Process.Recorder:
			recorder.add(did)
			continue
		case did == reading{}:
			continue
		}
		busy.add(did)
		r := row{name: threadName(th), tid: th.TID, reading: did}
		if !v.o.ByUnit {
			rows = append(rows, r)
			continue
		}
		name := v.unit(th)
		k, ok := units[name]
		if !ok {
			k = len(rows)
			units[name] = k
			rows = append(rows, row{name: name})
		}
		rows[k].add(did)
	}
	sort.SliceStable(rows, func(i, j int) bool {
		return rows[i].ran > rows[j].ran || rows[i].ran == rows[j].ran && rows[i].wakeups > rows[j].wakeups
	})
	return rows, busy, recorder
}

// unit is the group that a thread belongs to.
func (v *Watch) unit(th *timeline.Thread) string {
	if th.Process == nil {
		return noUnit
	}
	if th.Process.Kernel {
		return kernelThreads
	}
	if u := v.tl.UnitOf(th.Process); u != "" {
		return prose.Printable(u)
	}
	return noUnit
}

func (r *reading) add(other reading) {
	r.ran += other.ran
	r.wakeups += other.wakeups
}
