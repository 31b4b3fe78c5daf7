// Package layering keeps the direction of imports: one table says which part of bootscope may import
// which, and Check compares it with what the files say. It reads every Go file, whatever its build
// constraints, so that a file for another system or a slow test can't break the rule unseen.
package layering

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Rule says what one folder, with all below it, may import besides itself and the standard library.
type Rule struct {
	Dir string
	// May lists folders of this module and paths of others, each with all below it.
	May []string
	// Tests lists what only its tests may import as well.
	Tests []string
}

// A Violation is an import that the rules don't allow.
type Violation struct {
	File   string // relative to the module, with the line
	Import string // "" if it is about the whole file
	Rule   string
}

func (v Violation) String() string {
	if v.Import == "" {
		return v.File + ": " + v.Rule
	}
	return fmt.Sprintf("%s imports %q: %s", v.File, v.Import, v.Rule)
}

// Check reads every Go file below root, the folder of a module of that name.
func Check(root, module string, rules []Rule) ([]Violation, error) {
	var found []Violation
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && skipped(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		v, err := checkFile(root, filepath.ToSlash(rel), module, rules)
		found = append(found, v...)
		return err
	})
	return found, err
}

// skipped tells which folders hold no code of this module: those that the go command leaves out of
// "./..." as well, and what git ignores.
func skipped(name string) bool {
	return name == "testdata" || name == "build" || name == "bin" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func checkFile(root, file, module string, rules []Rule) ([]Violation, error) {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	rule := ruleOf(rules, path.Dir(file))
	if rule == nil {
		return []Violation{{File: file, Rule: "its folder has no rule in the layering table: add one"}}, nil
	}
	may := append([]string{rule.Dir}, rule.May...)
	if strings.HasSuffix(file, "_test.go") {
		may = append(may, rule.Tests...)
	}
	var found []Violation
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if standard(imported) || within(may, strings.TrimPrefix(imported, module+"/")) {
			continue
		}
		found = append(found, Violation{
			File:   files.Position(spec.Pos()).String(),
			Import: imported,
			Rule:   fmt.Sprintf("%s may import the standard library and [%s] only", rule.Dir, strings.Join(may[1:], " ")),
		})
	}
	return found, nil
}

// standard tells whether a path is of the standard library: the first part of any other has a dot.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// ruleOf returns the rule with the longest folder that holds dir.
func ruleOf(rules []Rule, dir string) (best *Rule) {
	for i, r := range rules {
		if within([]string{r.Dir}, dir) && (best == nil || len(r.Dir) > len(best.Dir)) {
			best = &rules[i]
		}
	}
	return best
}

func within(dirs []string, dir string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return dir == d || strings.HasPrefix(dir, d+"/")
	})
}
