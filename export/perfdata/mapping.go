package perfdata

// A Mapping is a piece of a file in a process's memory.
type Mapping struct {
	Start, Length, Offset uint64
	Major, Minor          uint32
	Inode                 uint64
	BuildID               []byte // if known; then the device and the inode don't count
	Protection, Flags     uint32 // as mmap(2) takes them
	Path                  string
}

// mappedFile is a file whose build id is known.
type mappedFile struct{ path, buildID string }

const (
	maxPath    = 4095 // PATH_MAX without the NUL: readers have no room for more
	tooLong    = "//toolong"
	maxBuildID = 20
)

// Mapping tells that a process (w.PID) has something mapped.
func (r *Records) Mapping(w *When, m *Mapping) {
	misc, id := uint16(miscUser), m.BuildID[:min(len(m.BuildID), maxBuildID)]
	if len(id) > 0 {
		misc |= miscMmapBuildID
	}
	r.begin(typeMmap2, misc)
	b := le.AppendUint32(r.b, w.PID)
	b = le.AppendUint32(b, w.TID)
	b = le.AppendUint64(b, m.Start)
	b = le.AppendUint64(b, m.Length)
	b = le.AppendUint64(b, m.Offset)
	if len(id) > 0 {
		b = append(b, byte(len(id)), 0, 0, 0)
		b = append(b, id...)
		b = append(b, make([]byte, maxBuildID-len(id))...)
	} else {
		b = le.AppendUint32(b, m.Major)
		b = le.AppendUint32(b, m.Minor)
		b = le.AppendUint64(b, m.Inode)
		b = le.AppendUint64(b, 0) // generation of the inode
	}
	b = le.AppendUint32(b, m.Protection)
	r.b = le.AppendUint32(b, m.Flags)
	path := cString(m.Path, maxPath+1)
	if len(path) > maxPath {
		path = tooLong // as the kernel does it: a part would name another file
	}
	r.text(path)
	r.endWithID(w)
	if file := (mappedFile{path, string(id)}); len(id) > 0 && !r.buildIDs[file] {
		r.buildIDs[file] = true
		r.buildIDList = append(r.buildIDList, file)
	}
}

// Kernel is the upper half of the addresses, where Linux has the kernel on 64-bit machines.
const (
	kernelStart  = 1 << 63
	kernelLength = 1<<63 - 1
	kernelName   = "[kernel.kallsyms]"
)

// Kernel maps the kernel, its modules included, so that its addresses are known as such.
func (r *Records) Kernel() {
	r.begin(typeMmap, miscKernel)
	r.b = le.AppendUint32(r.b, ^uint32(0)) // of no process
	r.b = le.AppendUint32(r.b, 0)
	r.b = le.AppendUint64(r.b, kernelStart)
	r.b = le.AppendUint64(r.b, kernelLength)
	r.b = le.AppendUint64(r.b, 0)
	r.text(kernelName + "_text")
	r.endWithID(&When{})
}
