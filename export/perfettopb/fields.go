package perfettopb

// TracePacket is all that a Trace, which is a file, has: packets.
const TracePacket Field = 1

// TracePacket: its content is one of several, so most packets have one of these fields only.
const (
	PacketFtraceEvents    Field = 1 // FtraceEventBundle
	PacketProcessTree     Field = 2
	PacketClockSnapshot   Field = 6
	PacketTimestamp       Field = 8
	PacketSequence        Field = 10 // trusted_packet_sequence_id
	PacketTrackEvent      Field = 11
	PacketInternedData    Field = 12
	PacketSequenceFlags   Field = 13
	PacketSystemInfo      Field = 45
	PacketTrackDescriptor Field = 60
)

// TracePacket.SequenceFlags.
const (
	SequenceStateCleared = 1 // interned data from before is not referred to any more
	SequenceNeedsState   = 2
)

// ClockSnapshot, and its Clock.
const (
	SnapshotClocks       Field = 1
	SnapshotPrimaryClock Field = 2

	ClockID        Field = 1
	ClockTimestamp Field = 2
)

// BuiltinClock.
const (
	ClockRealtime  = 1
	ClockMonotonic = 3
	ClockBoottime  = 6
)

// SystemInfo, and its Utsname.
const (
	SystemUtsname  Field = 1
	SystemPageSize Field = 6
	SystemCPUs     Field = 8

	UtsnameSysname Field = 1
	UtsnameRelease Field = 3
	UtsnameMachine Field = 4
)

// ProcessTree, its Process and its Thread.
const (
	TreeProcesses Field = 1
	TreeThreads   Field = 2

	ProcessPID       Field = 1
	ProcessPPID      Field = 2
	ProcessCmdline   Field = 3
	ProcessStart     Field = 7 // process_start_from_boot
	ProcessKernel    Field = 8 // is_kthread
	ProcessCommAsCmd Field = 9 // cmdline_is_comm

	ThreadTID  Field = 1
	ThreadName Field = 2
	ThreadTGID Field = 3
)

// FtraceEventBundle.
const (
	BundleCPU          Field = 1
	BundleEvent        Field = 2
	BundleLostEvents   Field = 3
	BundleCompactSched Field = 4
)

// FtraceEventBundle.CompactSched: one list for each property of the switches and of the wakings. Times
// are differences to the one before.
const (
	CompactSwitchTime     Field = 1
	CompactSwitchState    Field = 2
	CompactSwitchNext     Field = 3
	CompactSwitchPriority Field = 4
	CompactNames          Field = 5 // intern_table
	CompactSwitchName     Field = 6
	CompactWakingTime     Field = 7
	CompactWakingTarget   Field = 8
	CompactWakingCPU      Field = 9
	CompactWakingPriority Field = 10
	CompactWakingName     Field = 11
	CompactWakingFlags    Field = 12
)

// FtraceEvent: a time, who was current, and one of the events.
const (
	FtraceTimestamp     Field = 1
	FtracePID           Field = 2
	FtraceSwitch        Field = 4
	FtraceCPUFrequency  Field = 11
	FtraceBlockedReason Field = 18
	FtraceWaking        Field = 20
	FtraceNewTask       Field = 235
	FtraceRename        Field = 236
	FtraceProcessFree   Field = 240
)

// The fields of those events.
const (
	SwitchPrevComm     Field = 1
	SwitchPrevPID      Field = 2
	SwitchPrevPriority Field = 3
	SwitchPrevState    Field = 4
	SwitchNextComm     Field = 5
	SwitchNextPID      Field = 6
	SwitchNextPriority Field = 7

	FrequencyKHz Field = 1
	FrequencyCPU Field = 2

	BlockedPID    Field = 1
	BlockedIOWait Field = 3

	WakingComm     Field = 1
	WakingPID      Field = 2
	WakingPriority Field = 3
	WakingCPU      Field = 5

	NewTaskPID   Field = 1
	NewTaskComm  Field = 2
	NewTaskFlags Field = 3 // of clone(2)

	RenamePID     Field = 1
	RenameOldComm Field = 2
	RenameNewComm Field = 3

	FreeComm Field = 1
	FreePID  Field = 2
)

// TrackDescriptor, its ProcessDescriptor and its ThreadDescriptor.
const (
	TrackUUID            Field = 1
	TrackName            Field = 2
	TrackProcess         Field = 3
	TrackThread          Field = 4
	TrackParent          Field = 5
	TrackChildOrdering   Field = 11
	TrackRank            Field = 12 // sibling_order_rank
	TrackDescription     Field = 14
	TrackProcessOrdering Field = 19

	DescriptorPID Field = 1 // of either
	DescriptorTID Field = 2
)

// TrackDescriptor.ChildTracksOrdering and ProcessOrdering.
const (
	ChildrenChronological = 2
	ChildrenExplicit      = 3

	ProcessesExplicit = 1
)

// TrackEvent.
const (
	EventCategory   Field = 3 // category_iids
	EventAnnotation Field = 4
	EventType       Field = 9
	EventNameID     Field = 10
	EventTrack      Field = 11
)

// TrackEvent.Type.
const (
	EventSliceBegin = 1
	EventSliceEnd   = 2
	EventInstant    = 3
)

// DebugAnnotation.
const (
	AnnotationNameID   Field = 1
	AnnotationBool     Field = 2
	AnnotationUint     Field = 3
	AnnotationInt      Field = 4
	AnnotationString   Field = 6
	AnnotationPointer  Field = 7 // shown in hexadecimal
	AnnotationArray    Field = 12
	AnnotationStringID Field = 17
)

// InternedData: tables of strings. An entry of any of them is a number and a string.
const (
	InternedCategories      Field = 1
	InternedEventNames      Field = 2
	InternedAnnotationNames Field = 3
	InternedStrings         Field = 29 // debug_annotation_string_values

	EntryID   Field = 1
	EntryText Field = 2
)
