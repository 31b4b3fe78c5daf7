package python

import (
	"strings"
	"testing"
)

func TestProgramOf(t *testing.T) {
	for argv, want := range map[string]string{
		"python3":                             "",
		"python3 /srv/app.py --port 80":       "/srv/app.py",
		"python3 -m http.server 80":           "http.server",
		"python3 -um http.server":             "http.server",
		"python3 -mhttp.server":               "http.server",
		"python3 -X importtime -OO app.py":    "app.py",
		"python3 -Xdev -W ignore -E app.py":   "app.py",
		"python3 -c pass":                     "-c pass",
		"python3 -Ic pass":                    "-c pass",
		"python3 - arg":                       "-",
		"python3 --check-hash-based-pycs x a": "a",
		"python3 -m":                          "",
	} {
		if got := programOf(strings.Split(argv, " ")); got != want {
			t.Errorf("programOf(%q) = %q, want %q", argv, got, want)
		}
	}
}
