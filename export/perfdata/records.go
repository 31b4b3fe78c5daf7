package perfdata

import (
	"bufio"
	"io"
)

// Records takes a file's records, in order of time. Its error stays once there is one.
type Records struct {
	out  *bufio.Writer
	size uint64
	err  error
	b    []byte // the record that is being made
	ids  []uint64

	round       int // records since the last one that ended a round
	first, last uint64
	samples     uint64
	buildIDs    map[mappedFile]bool
	buildIDList []mappedFile // in order of appearance
}

// The types of records, and the bits of their misc field.
const (
	typeMmap          = 1
	typeLost          = 2
	typeComm          = 3
	typeExit          = 4
	typeFork          = 7
	typeSample        = 9
	typeMmap2         = 10
	typeFinishedRound = 68

	miscKernel       = 1
	miscUser         = 2
	miscCommExec     = 1 << 13
	miscForkExec     = 1 << 13
	miscMmapBuildID  = 1 << 14
	miscBuildIDBytes = 1 << 15
)

// maxRound is after how many records a reader is told that no earlier time will follow, so that it
// need not keep all of them to put them in order.
const maxRound = 1 << 14

func (f *File) newRecords(w io.Writer) *Records {
	r := &Records{out: bufio.NewWriterSize(w, 256<<10), buildIDs: map[mappedFile]bool{}}
	for i := range f.Events {
		r.ids = append(r.ids, f.id(i))
	}
	return r
}

// Err returns why records can't be written, if they can't.
func (r *Records) Err() error { return r.err }

// When is where and when something was recorded. With no Time it held before all records.
type When struct {
	Time     uint64 // CLOCK_BOOTTIME in nanoseconds
	PID, TID uint32
	CPU      uint32
}

func (r *Records) begin(kind uint32, misc uint16) {
	r.b = le.AppendUint32(r.b[:0], kind)
	r.b = le.AppendUint16(r.b, misc)
	r.b = le.AppendUint16(r.b, 0) // the size, when it is known
}

// end writes the record out. Each is a multiple of 8 bytes long.
func (r *Records) end() {
	le.PutUint16(r.b[6:], uint16(len(r.b)))
	r.size += uint64(len(r.b))
	if r.err == nil {
		_, r.err = r.out.Write(r.b)
	}
	if r.round++; r.round >= maxRound {
		r.round = -1 // the next one counts itself
		r.begin(typeFinishedRound, 0)
		r.end()
	}
}

// endWithID writes a record that is no sample: when it was follows at its end.
func (r *Records) endWithID(w *When) {
	b := r.b
	b = le.AppendUint32(b, w.PID)
	b = le.AppendUint32(b, w.TID)
	b = le.AppendUint64(b, w.Time)
	b = le.AppendUint64(b, uint64(w.CPU))
	r.b = le.AppendUint64(b, r.ids[len(r.ids)-1])
	r.end()
}

// text appends a string that ends with NULs at a multiple of 8 bytes.
func (r *Records) text(s string) {
	r.b = append(append(r.b, s...), 0)
	for len(r.b)%8 != 0 {
		r.b = append(r.b, 0)
	}
}

// maxComm is the kernel's limit of a task's name, without the NUL.
const maxComm = 15

// Comm gives a task its name, which an exec does as well.
func (r *Records) Comm(w *When, comm string, exec bool) {
	misc := uint16(0)
	if exec {
		misc = miscCommExec
	}
	r.begin(typeComm, misc)
	r.b = le.AppendUint32(r.b, w.PID)
	r.b = le.AppendUint32(r.b, w.TID)
	r.text(cString(comm, maxComm))
	r.endWithID(w)
}

// A Task is a thread of a process, with the one that it comes from.
type Task struct {
	PID, ParentPID uint32
	TID, ParentTID uint32
}

// Fork tells of a new task. A new process inherits its parent's mappings, or has none so far.
func (r *Records) Fork(w *When, t *Task, inherits bool) {
	misc := uint16(miscForkExec)
	if inherits {
		misc = 0
	}
	r.task(typeFork, misc, w, t)
}

// Exit tells that a task has ended.
func (r *Records) Exit(w *When, t *Task) { r.task(typeExit, 0, w, t) }

func (r *Records) task(kind uint32, misc uint16, w *When, t *Task) {
	r.begin(kind, misc)
	r.b = le.AppendUint32(r.b, t.PID)
	r.b = le.AppendUint32(r.b, t.ParentPID)
	r.b = le.AppendUint32(r.b, t.TID)
	r.b = le.AppendUint32(r.b, t.ParentTID)
	r.b = le.AppendUint64(r.b, w.Time)
	r.endWithID(w)
}

// Lost tells that samples of an event were lost before this moment.
func (r *Records) Lost(w *When, event int, count uint64) {
	r.begin(typeLost, 0)
	r.b = le.AppendUint64(r.b, r.ids[event])
	r.b = le.AppendUint64(r.b, count)
	r.endWithID(w)
}

// cString cuts a string at its first NUL, or where it gets too long.
func cString(s string, most int) string {
	s = s[:min(len(s), most)]
	for i := range len(s) {
		if s[i] == 0 {
			return s[:i]
		}
	}
	return s
}
