package export

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// Ids of tracks that stand for no task. The kernel's own ids end at 4,194,304 (PID_MAX_LIMIT), and
// Perfetto takes the ids of threads for unique in the whole trace, and 0 for the idle task.
const (
	maxTaskID     = 1 << 22
	cpuGroupID    = 1 << 23
	kernelGroupID = cpuGroupID + 1<<20 // kernel threads are shown as one process
	recordGroupID = kernelGroupID + 1  // the recording as a whole
	firstAliasID  = 1 << 24
)

// The tracks about the recording as a whole.
var (
	chromeRecording  = chromeTrack{recordGroupID, recordGroupID}
	chromeMilestones = chromeTrack{recordGroupID, recordGroupID + 1}
	chromeFindings   = chromeTrack{recordGroupID, recordGroupID + 2}
	chromeLosses     = chromeTrack{recordGroupID, recordGroupID + 3}
)

var cpuGroup = chromeTrack{pid: cpuGroupID, tid: cpuGroupID}

func cpuTrack(cpu int) chromeTrack {
	return chromeTrack{pid: cpuGroupID, tid: cpuGroupID + 1 + uint32(cpu)}
}

// chromeTracks gives each thread a track of its own. The first thread with an id has the track of that
// number; when the kernel uses the id again, the next gets a made-up one.
type chromeTracks struct {
	tracks []chromeTrack // by Thread.Index
	names  []string      // likewise
}

func newChromeTracks(tl *timeline.Timeline) *chromeTracks {
	t := &chromeTracks{
		tracks: make([]chromeTrack, len(tl.Threads)),
		names:  make([]string, len(tl.Threads)),
	}
	pids := make(map[*timeline.Process]uint32, len(tl.Processes))
	for i, p := range tl.Processes {
		switch {
		case p.Kernel:
			pids[p] = kernelGroupID
		case p.Incarnation > 0 || p.PID == 0 || p.PID > maxTaskID:
			pids[p] = firstAliasID + uint32(len(tl.Threads)+i)
		default:
			pids[p] = p.PID
		}
	}
	used := make(map[uint32]bool, len(tl.Threads))
	for i, th := range tl.Threads {
		id := th.TID
		if used[id] || id == 0 || id > maxTaskID {
			id = firstAliasID + uint32(i)
		}
		used[id] = true
		t.tracks[i] = chromeTrack{pid: pids[th.Process], tid: id}
		t.names[i] = threadName(th)
	}
	return t
}

// of returns a thread's track. The thread may be of another build of the same source.
func (t *chromeTracks) of(th *timeline.Thread) chromeTrack { return t.tracks[th.Index] }

func (t *chromeTracks) name(th *timeline.Thread) string { return t.names[th.Index] }

// identify adds a thread's real ids.
func (t *chromeTracks) identify(a *args, th *timeline.Thread) {
	a.number("tid", int64(th.TID))
	if th.Process != nil {
		a.number("pid", int64(th.Process.PID))
	}
}

func threadName(th *timeline.Thread) string {
	switch {
	case th.Comm != "":
		return th.Comm
	case th.Process.Comm() != "":
		return th.Process.Comm()
	}
	return fmt.Sprintf("thread %d", th.TID)
}

// maxProcessName keeps a process's name on the screen.
const maxProcessName = 60

// processName is the comm and the arguments: the comm alone is "python3" for every Python daemon.
func processName(p *timeline.Process) string {
	name := p.Comm()
	if name == "" {
		name = baseName(p.Exe)
	}
	if name == "" {
		name = fmt.Sprintf("process %d", p.PID)
	}
	if len(p.Argv) > 1 {
		name += " " + strings.Join(p.Argv[1:], " ")
	}
	if len(name) <= maxProcessName {
		return name
	}
	end := maxProcessName
	for end > maxProcessName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// baseName is the last element of a path of the recorded system, whatever system this is.
func baseName(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Order of the processes on the screen: the recording and the CPUs, then the processes in order, then the
// kernel's threads as one.
const (
	sortRecording = iota
	sortCPUs
	sortProcesses
	sortKernel = 1 << 30
)

// nameTracks names and orders every track.
func (x *chromeExport) nameTracks() {
	x.nameRecording()
	x.nameProcess(cpuGroup, "CPUs", sortCPUs)
	for _, c := range x.tl.CPUs {
		x.nameThread(cpuTrack(c.ID), fmt.Sprintf("CPU %d", c.ID), int64(c.ID))
	}
	kernel := false
	for i, p := range processesInOrder(x.tl.Timeline) {
		switch track := x.tracks.of(p.Threads[0]); {
		case !p.Kernel:
			x.nameProcess(track, processName(p), int64(sortProcesses+i))
			x.nameUnit(track, p)
		case !kernel:
			kernel = true
			x.nameProcess(chromeTrack{pid: kernelGroupID, tid: kernelGroupID}, "kernel threads", sortKernel)
		}
		for _, th := range p.Threads {
			x.nameThread(x.tracks.of(th), x.tracks.name(th), int64(th.Index))
		}
	}
}

func (x *chromeExport) nameRecording() {
	x.nameProcess(chromeRecording, "Recording", sortRecording)
	for i, t := range []struct {
		track chromeTrack
		name  string
		used  bool
	}{
		{chromeRecording, "recording", true},
		{chromeMilestones, "milestones", len(x.tl.Milestones) > 0},
		{chromeFindings, "findings", len(x.tl.findings) > 0},
		{chromeLosses, "lost events", len(x.tl.Losses) > 0},
	} {
		if t.used {
			x.nameThread(t.track, t.name, int64(i))
		}
	}
}

// nameUnit shows a process's unit behind its name.
func (x *chromeExport) nameUnit(t chromeTrack, p *timeline.Process) {
	if p.Unit == nil {
		return
	}
	a := x.w.args()
	a.text("labels", p.Unit.Name)
	x.w.metadata(t, "process_labels", a)
}

func (x *chromeExport) nameProcess(t chromeTrack, name string, order int64) {
	a := x.w.args()
	a.text("name", name)
	x.w.metadata(t, "process_name", a)
	a = x.w.args()
	a.number("sort_index", order)
	x.w.metadata(t, "process_sort_index", a)
}

func (x *chromeExport) nameThread(t chromeTrack, name string, order int64) {
	a := x.w.args()
	a.text("name", name)
	x.w.metadata(t, "thread_name", a)
	a = x.w.args()
	a.number("sort_index", order)
	x.w.metadata(t, "thread_sort_index", a)
}
