package findings

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

const (
	// A program that waits less for its data to be on storage is not what makes a boot slow: every package
	// manager and every database syncs now and then.
	minSyncWait = 500e6
	// Shorter waits of others are not asked whether they were because of a sync.
	minOtherWait = 1e6
	// So many files, and so many others, are named.
	namedFiles = 3
)

// fsyncs looks for programs that wait until their data is on storage, and for who waits meanwhile: with a
// journal, one's commit is what another's write or rename has to wait for.
type fsyncs struct {
	timeline.Discard
	waits
	others waits // for storage, but for themselves
	files  map[*timeline.Thread]map[*timeline.File]*timeline.Syncs
	calls  map[*timeline.Thread]uint64
}

func newFsyncs() *fsyncs {
	return &fsyncs{
		waits: waits{}, others: waits{},
		files: map[*timeline.Thread]map[*timeline.File]*timeline.Syncs{}, calls: map[*timeline.Thread]uint64{},
	}
}

// Interval implements timeline.IntervalSink.
func (x *fsyncs) Interval(iv *timeline.Interval) {
	switch {
	case iv.State != timeline.IOWait && iv.State != timeline.Blocked && iv.State != timeline.Sleeping:
	case iv.Class == timeline.SyncCall:
		x.add(iv)
	case iv.State != timeline.Sleeping && iv.End-iv.Start >= minOtherWait:
		x.others.add(iv)
	}
}

// Sync implements timeline.Sink.
func (x *fsyncs) Sync(s *timeline.Sync) {
	x.calls[s.Thread]++
	if s.File == nil {
		return
	}
	files := x.files[s.Thread]
	if files == nil {
		files = map[*timeline.File]*timeline.Syncs{}
		x.files[s.Thread] = files
	}
	if files[s.File] == nil {
		files[s.File] = &timeline.Syncs{}
	}
	files[s.File].Count++
	files[s.File].Time += s.End - s.Start
}

// Find implements Detector.
func (x *fsyncs) Find(*Recording) (found []Finding) {
	var others []*waiter
	for _, w := range x.byProgram() {
		if w.time() < minSyncWait {
			break // the longest come first
		}
		if others == nil {
			others = x.others.byProgram()
		}
		found = append(found, x.finding(w, others))
	}
	return found
}

func (x *fsyncs) finding(w *waiter, others []*waiter) Finding {
	first, last := w.when[0].start, w.when[len(w.when)-1].end
	f := Finding{
		ID: "fsync-wait", Title: "waits until its data is on storage (fsync)", Cost: w.time(), Unit: w.unit, PID: w.pid(),
		Remedy: "sync once after several writes, or not at all what need not survive a power cut (SQLite: " +
			"PRAGMA synchronous=NORMAL; temporary data: a tmpfs), or let it run after the boot",
	}
	calls := uint64(0)
	for th, n := range x.calls {
		if w.processes[th.Process] {
			calls += n
		}
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("%s called fsync and the like %s and waited %s in it, between %s and %s",
		w.name(), times(calls), seconds(w.time()), seconds(first), seconds(last)))
	f.Evidence = append(f.Evidence, x.filesOf(w)...)
	return withOthers(f, w, others)
}

// filesOf names what a program synced, the longest first.
func (x *fsyncs) filesOf(w *waiter) (lines []string) {
	sums := map[*timeline.File]timeline.Syncs{}
	for th, files := range x.files {
		if !w.processes[th.Process] {
			continue
		}
		for file, s := range files {
			sum := sums[file]
			sum.Count += s.Count
			sum.Time += s.Time
			sums[file] = sum
		}
	}
	var list []*timeline.File
	for file := range sums {
		if sums[file].Time > 0 {
			list = append(list, file)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := sums[list[i]].Time, sums[list[j]].Time; a != b {
			return a > b
		}
		return list[i].Path < list[j].Path
	})
	for i, file := range list {
		if i == namedFiles {
			lines = append(lines, fmt.Sprintf("%d more files", len(list)-namedFiles))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", file.Name(), seconds(sums[file].Time), times(sums[file].Count)))
	}
	return lines
}

// withOthers adds who waited for storage at the same time. That this was because of the syncs is likely, not
// certain, which the words have to leave open.
func withOthers(f Finding, w *waiter, others []*waiter) Finding {
	type share struct {
		*waiter
		time uint64
	}
	var list []share
	for _, o := range others {
		if time := overlap(o.when, w.when); o.program != w.program && time >= minCost {
			list = append(list, share{o, time})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].time > list[j].time })
	for i, s := range list {
		if i == namedFiles {
			break
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("during these waits %s waited for storage as well, for %s", s.name(), seconds(s.time)))
	}
	return f
}
