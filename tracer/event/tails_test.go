package event

import (
	"slices"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	for _, test := range []struct {
		tail  string
		flags uint32
		want  string
	}{
		{"", 0, "/"},
		{"etc\x00", 0, "/etc"},
		{"python3\x00bin\x00usr\x00", 0, "/usr/bin/python3"},
		{"python3\x00bin", 0, "/bin/python3"}, // the last NUL may be missing
		{"b\x00a\x00", PathCut, "…/a/b"},
		{"pipe:\x00", PathNone, ""},
		{"new\nline\xff\x00\x1b[0m\x00", 0, "/\x1b[0m/new\nline\xff"},
	} {
		p := &Path{Flags: test.flags}
		p.SetTail([]byte(test.tail))
		if got := p.Path(); got != test.want {
			t.Errorf("%q: %q, want %q", test.tail, got, test.want)
		}
	}
}

func TestSetPath(t *testing.T) {
	for _, path := range []string{"/", "/a", "/usr/lib/python3.11/os.py", "/" + strings.Repeat("x/", 63) + "y"} {
		var p Path
		p.SetPath(path)
		if p.Path() != path || int(p.Tail) != len(p.TailBytes()) {
			t.Errorf("%q became %q with a tail of %d bytes", path, p.Path(), p.Tail)
		}
	}
}

func TestArgv(t *testing.T) {
	for _, test := range []struct {
		tail  string
		total uint64
		want  []string
		cut   bool
	}{
		{"", 0, []string{}, false},
		{"\x00", 1, []string{""}, false},
		{"sh\x00-c\x00\x00", 7, []string{"sh", "-c", ""}, false},
		{"sh\x00-c\x00true", 4000, []string{"sh", "-c", "true"}, true},
	} {
		a := &Args{Total: test.total}
		a.SetTail([]byte(test.tail))
		if got, cut := a.Argv(); !slices.Equal(got, test.want) || cut != test.cut {
			t.Errorf("%q: %q, %v", test.tail, got, cut)
		}
	}
}

func TestExeAndArgv(t *testing.T) {
	for tail, want := range map[string][]string{
		"":                         {""},
		"/bin/sh\x00":              {"/bin/sh"},
		"/bin/sh\x00-sh\x00\x00":   {"/bin/sh", "-sh", ""},
		"\x00no-exe\x00":           {"", "no-exe"},
		"/x (deleted)\x00a\nb\x00": {"/x (deleted)", "a\nb"},
	} {
		var e Task
		e.SetTail([]byte(tail))
		if exe, argv := e.ExeAndArgv(); exe != want[0] || !slices.Equal(argv, want[1:]) {
			t.Errorf("%q: %q %q", tail, exe, argv)
		}
	}
}

func TestComm(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "sh": "sh", "123456789012345": "123456789012345", "1234567890123456789": "123456789012345", "a\x00b": "a",
	} {
		if got := Comm(CommBytes(in)); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := Comm([16]byte([]byte("0123456789abcdef"))); got != "0123456789abcdef" {
		t.Errorf("without a NUL: %q", got)
	}
}

func TestEnumNames(t *testing.T) {
	for got, want := range map[string]string{
		KindSwitch.String(): "switch", Kind(999).String(): "999", StateIoWait.String(): "io_wait", LostFull.String(): "full",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
