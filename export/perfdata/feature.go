package perfdata

// Info describes the machine and the recording.
type Info struct {
	Release  string // uname -r
	Arch     string // uname -m
	Tool     string // that recorded, with its version
	CPUs     int    // that there can be
	Online   int
	Command  []string // that made the recording
	PageSize int
	KernelID []byte // build id of the kernel, or what stands for it
}

// The numbers of the sections that follow the records.
const (
	featureTracingData = 1
	featureBuildID     = 2
	featureRelease     = 4
	featureVersion     = 5
	featureArch        = 6
	featureCPUs        = 7
	featureCommand     = 11
	featureEvents      = 12
	featureSampleTime  = 21
)

// A feature is a section that describes something.
type feature struct {
	number int
	make   func(*File, *Records) []byte
}

// features in order of their numbers, which is that of the sections.
var features = []feature{
	{featureTracingData, func(f *File, _ *Records) []byte { return f.tracingData() }},
	{featureBuildID, func(f *File, r *Records) []byte { return f.buildIDs(r) }},
	{featureRelease, func(f *File, _ *Records) []byte { return appendString(nil, f.Info.Release) }},
	{featureVersion, func(f *File, _ *Records) []byte { return appendString(nil, f.Info.Tool) }},
	{featureArch, func(f *File, _ *Records) []byte { return appendString(nil, f.Info.Arch) }},
	{featureCPUs, func(f *File, _ *Records) []byte {
		return le.AppendUint32(le.AppendUint32(nil, uint32(f.Info.CPUs)), uint32(f.Info.Online))
	}},
	{featureCommand, func(f *File, _ *Records) []byte { return appendStrings(nil, f.Info.Command) }},
	{featureEvents, func(f *File, _ *Records) []byte { return f.eventDescriptions() }},
	{featureSampleTime, func(_ *File, r *Records) []byte { return le.AppendUint64(le.AppendUint64(nil, r.first), r.last) }},
}

// has tells whether a file has a section. It must not depend on the records, which come after the bits.
func (f *File) has(feature int) bool {
	return feature != featureTracingData || len(f.Formats) > 0
}

func (f *File) featureBits() (bits uint64) {
	for _, s := range features {
		if f.has(s.number) {
			bits |= 1 << s.number
		}
	}
	return bits
}

// features returns what follows the records, which end at an offset: a table of sections, then these.
func (f *File) features(offset uint64, r *Records) []byte {
	var sections [][]byte
	for _, s := range features {
		if f.has(s.number) {
			sections = append(sections, s.make(f, r))
		}
	}
	offset += uint64(len(sections)) * sectionSize
	var b []byte
	for _, s := range sections {
		b = appendSection(b, offset, uint64(len(s)))
		offset += uint64(len(s))
	}
	for _, s := range sections {
		b = append(b, s...)
	}
	return b
}

// buildIDs lists the files whose build ids are known, the kernel first.
func (f *File) buildIDs(r *Records) (b []byte) {
	if len(f.Info.KernelID) > 0 {
		b = appendBuildID(b, miscKernel, mappedFile{kernelName, string(f.Info.KernelID)})
	}
	for _, file := range r.buildIDList {
		b = appendBuildID(b, miscUser, file)
	}
	return b
}

func appendBuildID(b []byte, misc uint16, file mappedFile) []byte {
	name := append([]byte(file.path), 0)
	for len(name)%8 != 4 { // the part before it has 36 bytes
		name = append(name, 0)
	}
	id := file.buildID[:min(len(file.buildID), maxBuildID)]
	b = le.AppendUint32(b, 0) // no type: it is in a section of its own
	b = le.AppendUint16(b, misc|miscBuildIDBytes)
	b = le.AppendUint16(b, uint16(36+len(name)))
	b = le.AppendUint32(b, ^uint32(0)) // whichever process
	b = append(b, id...)
	b = append(b, make([]byte, maxBuildID-len(id))...)
	b = append(b, byte(len(id)), 0, 0, 0)
	return append(b, name...)
}

func (f *File) eventDescriptions() []byte {
	b := le.AppendUint32(nil, uint32(len(f.Events)))
	b = le.AppendUint32(b, attrBytes)
	for i, e := range f.Events {
		b = e.append(b, i == len(f.Events)-1)
		b = le.AppendUint32(b, 1) // one id
		b = appendString(b, e.Name)
		b = le.AppendUint64(b, f.id(i))
	}
	return b
}

func appendStrings(b []byte, list []string) []byte {
	b = le.AppendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// stringUnit is what perf fills strings up to.
const stringUnit = 64

// appendString appends a string with its length before it, which counts the NULs at its end.
func appendString(b []byte, s string) []byte {
	s = cString(s, len(s))
	size := (len(s) + stringUnit) / stringUnit * stringUnit
	b = le.AppendUint32(b, uint32(size))
	b = append(b, s...)
	return append(b, make([]byte, size-len(s))...)
}
