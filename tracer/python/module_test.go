package python

import (
	"strings"
	"testing"
)

func TestModuleName(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/usr/lib/python3.11/asyncio/__pycache__/__init__.cpython-311.pyc", "asyncio"},
		{"/usr/lib/python3.11/asyncio/__pycache__/base_events.cpython-311.opt-1.pyc", "asyncio.base_events"},
		{"/usr/lib/python3.11/__pycache__/os.cpython-311.pyc", "os"},
		{"/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so", "_ssl"},
		{"/usr/lib/python3/dist-packages/yaml/__init__.py", "yaml"},
		{"/venv/lib/python3.12/site-packages/a/b/c.abi3.so", "a.b.c"},
		{"/usr/lib/python311.zip/json/decoder.pyc", "json.decoder"},
		{"/opt/app/server/__pycache__/main.cpython-39.pyc", "main"},
		{"/opt/app/server/__pycache__/__init__.cpython-39.pyc", "server"},
		{"/opt/app/server/__init__.py", "server"},
		{"/opt/pypy3.9/lib/pypy3.9/json/__pycache__/__init__.pypy39.pyc", "json"},
		{"script.py", "script"},
		{"/x.y.py", "x.y"},
	} {
		f := parseFile(c.path)
		if got := layoutOf([]moduleFile{f}).moduleName(f); got != c.want {
			t.Errorf("%q is module %q, want %q", c.path, got, c.want)
		}
	}
}

func TestHome(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/lib/python3.11/asyncio/__pycache__/__init__.cpython-311.pyc": "/usr/lib/python3.11",
		"/usr/lib/python3/dist-packages/yaml/__init__.py":                  "/usr/lib/python3/dist-packages",
		"/opt/app/__pycache__/main.cpython-39.pyc":                         "/opt/app",
		"main.py": ".",
	} {
		if got := Home(path); got != want {
			t.Errorf("Home(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestIsModuleFile(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/b.py":  true,
		"/a/b.pyc": true,
		"/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so": true,
		"/opt/x/fast.abi3.so":                                 true,
		"/venv/lib/python3.12/site-packages/p/fast.so":        true,
		"/venv/lib/python3.12/site-packages/p/libopenblas.so": false,
		"/usr/lib/x86_64-linux-gnu/libc.so.6":                 false,
		"/usr/lib/x86_64-linux-gnu/gconv/UTF-16.so":           false,
		"/etc/passwd":            false,
		"/a/b.pyc.140234":        false,
		"/usr/lib/python3.11":    false,
		"/usr/lib/python3.11.so": false,
	} {
		if got := IsModuleFile(path); got != want {
			t.Errorf("IsModuleFile(%q) = %v", path, got)
		}
	}
}

func TestIsPython(t *testing.T) {
	for name, want := range map[string]bool{
		"/usr/bin/python3": true, "python3.11": true, "pypy3": true, "/usr/bin/python3.13t": true, "python3-dbg": false,
		"/usr/bin/pythonista-settings": false, "/bin/sh": false, "": false,
	} {
		if got := isPython(name); got != want {
			t.Errorf("isPython(%q) = %v", name, got)
		}
	}
}

// What else was loaded tells where a name begins.
func TestModuleNameInPackages(t *testing.T) {
	for _, c := range []struct{ path, others, want string }{
		{"/opt/app/server/web/view.py", "", "view"},
		{"/opt/app/server/web/view.py", "/opt/app/server/__init__.py", "server.web.view"},
		{"/opt/app/server/web/view.py", "/opt/app/server/__init__.py /opt/app/server/web/__init__.py", "server.web.view"},
		{"/opt/app/plugins/one.py", "/opt/app/server/__init__.py", "plugins.one"},
		{"/opt/app/main.py", "/opt/app/server/__init__.py", "main"},
		{"/srv/__pycache__/main.cpython-312.pyc", "/opt/app/server/__init__.py", "main"},
		{"/opt/app.zip", "", "<app.zip>"},
	} {
		files := []moduleFile{parseFile(c.path)}
		for _, other := range strings.Fields(c.others) {
			files = append(files, parseFile(other))
		}
		if got := layoutOf(files).moduleName(files[0]); got != c.want {
			t.Errorf("%s beside %q is module %q, want %q", c.path, c.others, got, c.want)
		}
	}
}

func TestSameModule(t *testing.T) {
	for _, c := range []struct {
		bytecode, source string
		want             bool
	}{
		{"/a/__pycache__/m.cpython-311.pyc", "/a/m.py", true},
		{"/a/__pycache__/m.cpython-311.opt-1.pyc", "/a/m.py", true},
		{"/cache/a/m.cpython-311.pyc", "/a/m.py", true}, // PYTHONPYCACHEPREFIX=/cache
		{"/b/__pycache__/m.cpython-311.pyc", "/a/m.py", false},
		{"/a/__pycache__/m.cpython-311.pyc.140234", "/a/m.py", true},
		{"/a/__pycache__/n.cpython-311.pyc", "/a/m.py", false},
	} {
		if got := parseFile(c.bytecode).sameModule(parseFile(c.source)); got != c.want {
			t.Errorf("%s and %s: %v", c.bytecode, c.source, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for tag, want := range map[string]string{
		"cpython-38": "3.8", "cpython-313": "3.13", "cpython-311-x86_64-linux-gnu": "3.11", "pypy39": "3.9",
		"abi3": "", "": "", "cpython-x": "",
	} {
		if got := versionOf(tag); got != want {
			t.Errorf("versionOf(%q) = %q, want %q", tag, got, want)
		}
	}
}
