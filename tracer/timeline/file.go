package timeline

import (
	"fmt"
	"path"

	"github.com/bootscope/bootscope/tracer/event"
)

// fileKey tells files apart: the same file at the same path is one, whatever ids it was sent under.
type fileKey struct {
	path   string
	inode  uint64
	device uint32
}

func (b *builder) onPath(e *event.Path) {
	key := fileKey{e.Path(), e.Inode, e.Device}
	inode := inodeKey{e.Inode, e.Device}
	f := b.names[key]
	if f == nil {
		if f = b.inodes[inode]; f == nil || !f.unnamed {
			f = &File{}
			b.tl.Files = append(b.tl.Files, f)
		}
		f.Path, f.Device, f.Inode, f.Mode, f.Size = key.path, e.Device, e.Inode, e.Mode, e.Size
		f.Cut, f.unnamed = e.Flags&event.PathCut != 0, false
		b.names[key] = f
	}
	b.inodes[inode] = f
	f.Unlinked = f.Unlinked || e.Flags&event.PathUnlinked != 0
	b.files[e.File] = f
}

func (b *builder) onOpen(th *Thread, e *event.Open) {
	o := &b.open
	*o = Open{Thread: th, Time: b.now, Result: e.Result, Flags: e.Flags, UserSP: e.UserSP}
	if f := b.files[e.File]; e.File != 0 && f != nil {
		o.File, o.Path, o.Cut = f, f.Path, f.Cut
	} else if e.File == 0 {
		o.Path, o.Cut = b.pathAsWritten(e), e.How&event.OpenNameCut != 0
	}
	if p := th.Process; p != nil {
		if e.Result >= 0 {
			p.Opens++
		} else {
			p.FailedOpens++
		}
	}
	if e.Result >= 0 {
		if o.File == nil && o.Path != "" {
			o.File = b.fileByName(o.Path, o.Cut)
		}
		if o.File != nil {
			o.File.Opens++
			o.File.written = e.Flags&accessMode != 0
		}
	} else {
		o.File = nil
	}
	for _, s := range b.sinks {
		s.Open(o)
	}
}

// accessMode is O_ACCMODE on every architecture: 0 is for reading only.
const accessMode = 3

// fileOfInode returns the file that pages belong to, with its latest name if there is one.
func (b *builder) fileOfInode(key inodeKey) *File {
	f := b.inodes[key]
	if f == nil {
		f = &File{Device: key.device, Inode: key.inode, unnamed: true}
		b.inodes[key] = f
		b.tl.Files = append(b.tl.Files, f)
	}
	return f
}

// onMapping keeps the path of what was mapped before the recording, and of what overlayfs maps: the
// file beneath, which nobody opens by its name.
func (b *builder) onMapping(e *event.Mapping) {
	key := inodeKey{e.Inode, e.Device}
	if path := e.TailBytes(); e.Inode != 0 && b.mapped[key] != string(path) {
		b.mapped[key] = string(path)
	}
}

// finishFiles names the files that were never opened in the recording, as far as that is possible. The pages
// of a block device have an inode of a file system of its own, whose number is the device's.
func (b *builder) finishFiles() {
	devices := map[uint64]bool{}
	for _, f := range b.tl.Files {
		devices[uint64(f.Device)] = true
	}
	for _, f := range b.tl.Files {
		if !f.unnamed {
			continue
		}
		if path, ok := b.mapped[inodeKey{f.Inode, f.Device}]; ok {
			f.Path = path
		} else if major := f.Device >> 20; major == 0 && devices[f.Inode] && f.Inode > 1<<20-1 {
			f.BlockDevice, f.Device = true, uint32(f.Inode)
		}
	}
}

// fileByName finds a file of which only a name is known.
func (b *builder) fileByName(name string, cut bool) *File {
	key := fileKey{path: name}
	f := b.names[key]
	if f == nil {
		f = &File{Path: name, Cut: cut}
		b.names[key] = f
		b.tl.Files = append(b.tl.Files, f)
	}
	return f
}

// pathAsWritten returns the path that a call was given, from the root if the directory is known that it
// starts at. It is cleaned as text: a ".." after a symbolic link may lead elsewhere.
func (b *builder) pathAsWritten(e *event.Open) string {
	name := string(e.TailBytes())
	if name == "" {
		return ""
	}
	// An absolute name has a base if it starts at another root than the machine's (chroot).
	base := b.files[e.Base]
	switch {
	case e.Base != 0 && base != nil && base.Path != "":
		return path.Join(base.Path, name)
	case name[0] == '/':
		return path.Clean(name)
	}
	return name
}

// Name says which file it is, also if its path is not known.
func (f *File) Name() string {
	device := fmt.Sprintf("%d:%d", f.Device>>20, f.Device&(1<<20-1))
	switch {
	case f.Path != "":
		return f.Path
	case f.BlockDevice:
		return "directories and tables of device " + device
	}
	return fmt.Sprintf("inode %d of device %s", f.Inode, device)
}
