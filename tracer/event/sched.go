package event

// The packed form of switch and waking: 8-byte words, one stream per CPU. The layout is described
// in bpf/sched.h.

// WordKind is what a word holds.
type WordKind uint8

// The kinds of words.
const (
	WordSwitch WordKind = iota
	WordWaking
	WordTime
	WordNote
)

// The kinds of notes.
const (
	noteLost    = 1
	noteNested  = 2
	noteCurrent = 3
	noteSyscall = 4
	noteWaker   = 5
)

const (
	wordKindShift    = 61
	wordTIDShift     = 39
	wordStateShift   = 36
	wordSyscallShift = 27
	wordTimeMask     = 1<<27 - 1
	wordNoSyscall    = 511
	wordTimeUnit     = 8 // nanoseconds
	noteCompat       = 1 << 31
)

// LapBit is set in a ring's words in every other lap. It is no part of what a word says.
const LapBit = 1 << 63

// NoSyscall is the system call number that stands for none.
const NoSyscall = 0xffff

// A SchedDecoder turns the words of one CPU into events. Its zero value (with CPU set) is ready.
type SchedDecoder struct {
	CPU uint16

	// The events are reused: one is valid until the next word.
	sw      Switch
	wake    Waking
	lost    Lost
	time    uint64 // of the last word, in units of wordTimeUnit
	current uint32 // tid that runs
	syscall uint16 // from a note, for the next switch
	compat  uint8
	noted   bool
	waker   uint32 // from a note, for the next waking
}

// Time returns the time of the last word, in nanoseconds from boot.
func (d *SchedDecoder) Time() uint64 { return d.time * wordTimeUnit }

// KindOfWord tells what a word holds.
func KindOfWord(word uint64) WordKind { return WordKind(word >> wordKindShift & 3) }

// Next returns the event that a word completes, or nil. Until the first switch has told who runs,
// TID is 0 (there is no other mark: the idle task has the same).
func (d *SchedDecoder) Next(word uint64) Event {
	switch KindOfWord(word) {
	case WordTime:
		d.time = word & (1<<wordKindShift - 1)
		return nil
	case WordNote:
		return d.note(word)
	case WordWaking:
		d.advance(word)
		d.stamp(&d.wake.Header, KindWaking)
		d.wake.Target, d.wake.By, d.wake.Number = tidOf(word), uint16(d.waker), uint16(d.waker>>16)
		d.waker = 0
		return &d.wake
	}
	d.advance(word)
	d.stamp(&d.sw.Header, KindSwitch)
	d.sw.Next, d.sw.State = tidOf(word), uint8(word>>wordStateShift&7)
	d.sw.Syscall, d.sw.Compat = uint16(word>>wordSyscallShift&511), 0
	if d.sw.Syscall == wordNoSyscall {
		d.sw.Syscall = NoSyscall
	}
	if d.noted {
		d.sw.Syscall, d.sw.Compat, d.noted = d.syscall, d.compat, false
	}
	d.current = d.sw.Next
	return &d.sw
}

func (d *SchedDecoder) note(word uint64) Event {
	payload := word & (1<<56 - 1)
	switch word >> 56 & 31 {
	case noteLost, noteNested:
		reason := LostFull
		if word>>56&31 == noteNested {
			reason = LostNested
		}
		d.stamp(&d.lost.Header, KindLost)
		d.lost.Count, d.lost.Probe, d.lost.Reason = payload, uint16(ProbeSched), uint16(reason)
		return &d.lost
	case noteCurrent:
		d.current = uint32(payload)
	case noteWaker:
		d.waker = uint32(payload)
	case noteSyscall:
		d.syscall, d.compat, d.noted = uint16(payload), uint8(payload>>31&1), true
	}
	return nil
}

func (d *SchedDecoder) advance(word uint64) {
	d.time += (word - d.time) & wordTimeMask
}

// stamp sets what words tell of a header; the rest of it stays zero. Making whole events and copying them was
// a fifth of the time of reading a trace.
func (d *SchedDecoder) stamp(h *Header, kind Kind) {
	h.Time, h.TID, h.Kind, h.CPU = d.Time(), d.current, uint16(kind), d.CPU
}

func tidOf(word uint64) uint32 { return uint32(word >> wordTIDShift & (1<<22 - 1)) }
