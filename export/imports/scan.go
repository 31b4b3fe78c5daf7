package imports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
)

// importer is a line of a source that imports a module.
type importer struct {
	module, file string
	line         int
	text         string
}

// whyElse searches the sources of all that an interpreter imported for others that import a module.
func whyElse(w io.Writer, in *python.Interpreter, m *python.Module, root string) error {
	var others []importer
	searched, missing := 0, 0
	for _, other := range in.Modules {
		source, ok := sourceOf(other.Open.File.Path)
		if !ok || other == m || other.Again {
			continue
		}
		lines, err := importsIn(filepath.Join(root, filepath.FromSlash(source)), packageOf(other.Name, source), m.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
			continue
		case err != nil:
			return err
		}
		searched++
		for _, l := range lines {
			l.module, l.file = other.Name, source
			others = append(others, l)
		}
	}
	if searched == 0 {
		return fmt.Errorf("%s has none of the sources of %s: it must be the root directory of the system that was recorded", root, nameOf(in))
	}
	fmt.Fprintf(w, "  %s, of %d that were searched, name it in an import:\n", prose.Count(len(others), "line"), searched)
	for _, o := range others {
		fmt.Fprintf(w, "    %s:%d: %s\n", prose.CutLeft(prose.Printable(o.file), prose.Columns-16), o.line,
			prose.Cut(prose.Printable(o.text), prose.Columns-8))
	}
	if missing > 0 {
		fmt.Fprintf(w, "  %s without their sources in %s\n", prose.Count(missing, "module"), prose.Printable(root))
	}
	return nil
}

var inCache = regexp.MustCompile(`/__pycache__/(.+)\.(cpython|pypy)[^/]*\.pyc$`)

// sourceOf is the path of the source of a module's file.
func sourceOf(file string) (string, bool) {
	if at := inCache.FindStringSubmatchIndex(file); at != nil {
		return file[:at[0]] + "/" + file[at[2]:at[3]] + ".py", true
	}
	return file, strings.HasSuffix(file, ".py")
}

// packageOf is the package that relative imports of a module start from.
func packageOf(module, source string) string {
	if path.Base(source) == "__init__.py" {
		return module
	}
	if i := strings.LastIndexByte(module, '.'); i >= 0 {
		return module[:i]
	}
	return ""
}

var (
	plainImport = regexp.MustCompile(`^\s*import\s+(.+)`)
	fromImport  = regexp.MustCompile(`^\s*from\s+(\.*)([\w.]*)\s+import\s+\(?(.*)`)
)

// importsIn returns the lines of a source that import a module, or name it in a from ... import. It reads
// lines, not the language: a name on a line of its own, in brackets after from ... import, is not seen.
func importsIn(name, pkg, module string) (found []importer, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 16<<20)
	for n := 1; lines.Scan(); n++ {
		if importsModule(lines.Text(), pkg, module) {
			found = append(found, importer{line: n, text: strings.TrimSpace(lines.Text())})
		}
	}
	return found, lines.Err()
}

// importsModule tells whether a line imports a module. A submodule's import is its package's, too.
func importsModule(line, pkg, module string) bool {
	line, _, _ = strings.Cut(line, "#")
	is := func(name string) bool { return name == module || strings.HasPrefix(name, module+".") }
	if m := plainImport.FindStringSubmatch(line); m != nil {
		for _, item := range strings.Split(m[1], ",") {
			if fields := strings.Fields(strings.TrimSuffix(item, ";")); len(fields) > 0 && is(fields[0]) {
				return true
			}
		}
		return false
	}
	m := fromImport.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	from := m[2]
	if dots := len(m[1]); dots > 0 {
		for ; dots > 1; dots-- {
			pkg = strings.TrimSuffix(path.Dir("/"+strings.ReplaceAll(pkg, ".", "/")), "/")
			pkg = strings.ReplaceAll(strings.TrimPrefix(pkg, "/"), "/", ".")
		}
		from = strings.Trim(pkg+"."+from, ".")
	}
	if is(from) {
		return true
	}
	for _, item := range strings.Split(strings.TrimRight(m[3], ") \\"), ",") {
		if fields := strings.Fields(item); len(fields) > 0 && from+"."+fields[0] == module {
			return true
		}
	}
	return false
}
