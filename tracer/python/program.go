package python

import "strings"

// programOf finds in an interpreter's arguments what it runs: a script's path, or the name after -m.
func programOf(argv []string) string {
	for i := 1; i < len(argv); i++ {
		a := argv[i]
		switch {
		case !strings.HasPrefix(a, "-") || a == "-":
			return a
		case strings.HasPrefix(a, "--"):
			if a == "--check-hash-based-pycs" {
				i++
			}
			continue
		}
		// Letters may be joined; the first that takes a value has the rest of the word, or the next one.
		at := strings.IndexAny(a, "cmWX")
		if at < 0 {
			continue
		}
		value := a[at+1:]
		if value == "" && i+1 < len(argv) {
			i++
			value = argv[i]
		}
		switch a[at] {
		case 'm':
			return value
		case 'c':
			return "-c " + value
		}
	}
	return ""
}
