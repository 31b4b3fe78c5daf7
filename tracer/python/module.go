package python

import (
	"path"
	"regexp"
	"strings"
)

// kind is what sort of file a module is loaded from.
type kind uint8

const (
	noModule  kind = iota
	source         // m.py
	bytecode       // m.cpython-311.pyc
	extension      // m.cpython-311-x86_64-linux-gnu.so
	archive        // an archive in sys.path, which holds modules
	writing        // m.cpython-311.pyc.139872 while it is written
)

// moduleFile is what a path says about a module. Source and bytecode of one module have the same dir
// and name.
type moduleFile struct {
	kind kind
	dir  string // without __pycache__
	name string // the last part of the module's name, or __init__
	tag  string // cpython-311; "" if the path has none
}

// parseFile tells what module a path is, if it is one.
func parseFile(p string) moduleFile {
	dir, base := path.Split(p)
	dir = strings.TrimSuffix(strings.TrimSuffix(dir, "/"), "/__pycache__")
	name, rest, _ := strings.Cut(base, ".")
	f := moduleFile{dir: dir, name: name}
	switch {
	case strings.HasSuffix(base, ".pyc"):
		f.kind = bytecode
	case strings.HasSuffix(base, ".py"):
		f.kind, f.name = source, strings.TrimSuffix(base, ".py")
		return f
	case strings.HasSuffix(base, ".so"):
		if !isExtension(p, base) {
			return moduleFile{}
		}
		f.kind = extension
	case inWriting.MatchString(base):
		f.kind = writing
	case isArchive(base):
		return moduleFile{kind: archive, dir: dir, name: base}
	default:
		return moduleFile{}
	}
	if t := tag.FindString(rest); t != "" {
		f.tag = t
		// A name may have dots of its own: what is before the tag is the name.
		f.name = strings.TrimSuffix(base[:strings.Index(base, t)], ".")
	}
	return f
}

var (
	// What Python adds to a module's name: m.cpython-311.opt-1.pyc, m.pypy39.pyc, m.abi3.so.
	tag = regexp.MustCompile(`(cpython-|pypy|graalpy|abi3)[^.]*`)
	// importlib writes into a file beside the real one and renames it.
	inWriting = regexp.MustCompile(`\.pyc\.\d+$`)
)

func isArchive(base string) bool {
	switch path.Ext(base) {
	case ".zip", ".whl", ".egg", ".pyz":
		return true
	}
	return false
}

// isExtension tells an extension module from other libraries: by its tag, or by where it is.
func isExtension(p, base string) bool {
	return strings.Contains(base, ".cpython-") || strings.HasSuffix(base, ".abi3.so") ||
		strings.Contains(base, ".pypy") || !strings.HasPrefix(base, "lib") && rootOf(p) != ""
}

// IsModuleFile tells whether a file, when a Python process opens it, is imported (or run as a script).
func IsModuleFile(name string) bool {
	k := parseFile(name).kind
	return k == source || k == bytecode || k == extension
}

// sameModule tells whether two files are of one module. With a cache prefix the bytecode is
// in a tree of its own, below which the path of the source is repeated.
func (f moduleFile) sameModule(src moduleFile) bool {
	return f.name == src.name && (f.dir == src.dir || strings.HasSuffix(f.dir, src.dir) && src.dir != "")
}

// Directories below which a path spells the module's full name.
var root = regexp.MustCompile(`/(site-packages|dist-packages|lib-dynload|(python|pypy)[0-9][0-9.]*(\.zip)?)/`)

// rootOf returns the longest prefix of a path that is a directory of sys.path as far as its name tells,
// with its slash; "" if none is.
func rootOf(name string) string {
	end := 0
	// Neighbours share a slash (python3/dist-packages), so look on from a match's last byte.
	for {
		at := root.FindStringIndex(name[end:])
		if at == nil {
			break
		}
		end += at[1] - 1
	}
	if end == 0 {
		return ""
	}
	return name[:end+1]
}

// Home returns the directory that a module's name starts from: in sys.path, as far as names tell.
func Home(name string) string {
	if dir := rootOf(name); dir != "" {
		return path.Clean(dir)
	}
	return strings.TrimSuffix(path.Dir(name), "/__pycache__")
}

// layout is what the files that were loaded tell of the directories they are in.
type layout struct {
	packages map[string]bool // an __init__ was loaded from there
	roots    map[string]bool // packages are in there, and it is none
}

// layoutOf looks at all files that were loaded.
func layoutOf(files []moduleFile) *layout {
	l := &layout{packages: map[string]bool{}, roots: map[string]bool{}}
	for _, f := range files {
		if f.name == "__init__" {
			l.packages[f.dir] = true
		}
	}
	for dir := range l.packages {
		if up := path.Dir(dir); !l.packages[up] {
			l.roots[up] = true
		}
	}
	return l
}

// rootAbove returns the nearest directory at or above one from which modules are named, and whether one is
// known.
func (l *layout) rootAbove(dir string) (string, bool) {
	if top := rootOf(dir + "/"); top != "" {
		return strings.TrimSuffix(top, "/"), true
	}
	for d := dir; ; d = path.Dir(d) {
		if l.roots[d] && !l.packages[d] {
			return d, true
		}
		if len(d) <= 1 {
			return "", false
		}
	}
}

// moduleName gives a module its full name: from a directory on that is known to hold modules, or else the
// last part only. A package is named by its __init__.
func (l *layout) moduleName(f moduleFile) string {
	if f.kind == archive {
		return "<" + f.name + ">"
	}
	var parts []string
	if top, ok := l.rootAbove(f.dir); ok {
		if inner := strings.Trim(strings.TrimPrefix(f.dir, top), "/"); inner != "" {
			parts = strings.Split(inner, "/")
		}
	}
	if f.name != "__init__" {
		parts = append(parts, f.name)
	}
	return strings.Join(parts, ".")
}

// versionOf reads Python's version from a tag: cpython-311 is 3.11.
func versionOf(tag string) string {
	for _, prefix := range []string{"cpython-", "pypy"} {
		if digits, ok := strings.CutPrefix(tag, prefix); ok && len(digits) >= 2 {
			digits, _, _ = strings.Cut(digits, "-")
			if len(digits) < 2 || strings.Trim(digits, "0123456789") != "" {
				return ""
			}
			return digits[:1] + "." + digits[1:]
		}
	}
	return ""
}
