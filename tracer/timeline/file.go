package timeline

import (
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
	f := b.names[key]
	if f == nil {
		f = &File{
			Path: key.path, Device: e.Device, Inode: e.Inode, Mode: e.Mode, Size: e.Size,
			Cut: e.Flags&event.PathCut != 0,
		}
		b.names[key] = f
		b.tl.Files = append(b.tl.Files, f)
	}
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
		}
	} else {
		o.File = nil
	}
	for _, s := range b.sinks {
		s.Open(o)
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
	if name[0] == '/' {
		return path.Clean(name)
	}
	base := b.files[e.Base]
	if e.Base == 0 || base == nil || base.Path == "" {
		return name
	}
	return path.Join(base.Path, name)
}
