package python

import (
	"path"
	"regexp"
	"strings"
)

// IsModuleFile tells whether a file, when a Python process opens it, is imported (or run as a script).
func IsModuleFile(name string) bool {
	switch path.Ext(name) {
	case ".pyc", ".py":
		return true
	case ".so":
		base := path.Base(name)
		return strings.Contains(base, ".cpython-") || strings.HasSuffix(base, ".abi3.so") ||
			!strings.HasPrefix(base, "lib") && rootOf(name) != ""
	}
	return false
}

// What Python adds to a module's name: m.cpython-311.opt-1.pyc, m.cpython-311-x86_64-linux-gnu.so,
// m.abi3.so, m.pypy39.pyc.
var tag = regexp.MustCompile(`\.(cpython-|pypy|abi3|opt-)[^.]*`)

// Directories below which a path spells the module's full name.
var root = regexp.MustCompile(`/(site-packages|dist-packages|lib-dynload|(python|pypy)[0-9.]*(\.zip)?)/`)

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

// ModuleOf guesses a module's name from the path of its file: in full below a directory that is known to
// hold modules, else the last part of it. A package is named by its __init__.
func ModuleOf(name string) string {
	dir, base := path.Split(strings.TrimPrefix(name, rootOf(name)))
	if rootOf(name) == "" {
		dir = parent(dir)
	}
	dir = strings.TrimSuffix(dir, "__pycache__/")
	base = tag.ReplaceAllString(strings.TrimSuffix(base, path.Ext(base)), "")
	if base == "__init__" {
		base = ""
	} else if rootOf(name) == "" {
		dir = ""
	}
	return strings.Trim(strings.ReplaceAll(dir+base, "/", "."), ".")
}

// parent returns the last part of a directory that is not __pycache__, with its slash.
func parent(dir string) string {
	dir = strings.TrimSuffix(dir, "__pycache__/")
	return path.Base(dir) + "/"
}
