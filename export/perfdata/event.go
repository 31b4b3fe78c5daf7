package perfdata

// An Event is what samples are of: struct perf_event_attr.
type Event struct {
	Name string
	Type uint32
	// Config says which event of its type; for a tracepoint it is the id of its format.
	Config uint64
	// Hz is how often the event is sampled, 0 for every time.
	Hz uint64
	// NotIdle: not while the CPU is idle.
	NotIdle bool
}

// The types of events.
const (
	TypeSoftware   = 1
	TypeTracepoint = 2
)

// ConfigCPUClock is the software event that fires as time goes by on a CPU.
const ConfigCPUClock = 0

// attrBytes is the size of the attribute's version 5 (Linux 4.1), which all readers know.
const attrBytes = 112

// What samples hold (enum perf_event_sample_format).
const (
	sampleIP         = 1 << 0
	sampleTID        = 1 << 1
	sampleTime       = 1 << 2
	sampleCPU        = 1 << 7
	samplePeriod     = 1 << 8
	sampleRaw        = 1 << 10
	sampleIdentifier = 1 << 16

	// sampleCommon is in the samples of all events, as readers show only what all have.
	sampleCommon = sampleIdentifier | sampleIP | sampleTID | sampleTime | sampleCPU | samplePeriod
)

// Bits of the attribute.
const (
	bitExcludeIdle = 1 << 7
	bitMmap        = 1 << 8
	bitComm        = 1 << 9
	bitFreq        = 1 << 10
	bitTask        = 1 << 13
	bitSampleIDAll = 1 << 18
	bitMmap2       = 1 << 23
	bitCommExec    = 1 << 24
	bitUseClockID  = 1 << 25
	bitBuildID     = 1 << 34
)

const clockBoottime = 7

func (e *Event) sampleType() uint64 {
	if e.Type == TypeTracepoint {
		return sampleCommon | sampleRaw
	}
	return sampleCommon
}

// append appends the attribute. One event of a file tracks the tasks.
func (e *Event) append(b []byte, tracks bool) []byte {
	bits := uint64(bitSampleIDAll | bitUseClockID)
	every := uint64(1)
	if e.Hz > 0 {
		every, bits = e.Hz, bits|bitFreq
	}
	if e.NotIdle {
		bits |= bitExcludeIdle
	}
	if tracks {
		bits |= bitMmap | bitMmap2 | bitComm | bitCommExec | bitTask | bitBuildID
	}
	var attr [attrBytes]byte
	le.PutUint32(attr[0:], e.Type)
	le.PutUint32(attr[4:], attrBytes)
	le.PutUint64(attr[8:], e.Config)
	le.PutUint64(attr[16:], every)
	le.PutUint64(attr[24:], e.sampleType())
	le.PutUint64(attr[40:], bits)
	le.PutUint32(attr[92:], clockBoottime)
	return append(b, attr[:]...)
}
