package python

import "testing"

func TestModuleOf(t *testing.T) {
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
		{"__init__.py", ""},
		{"/x.y.py", "x.y"},
	} {
		if got := ModuleOf(c.path); got != c.want {
			t.Errorf("ModuleOf(%q) = %q, want %q", c.path, got, c.want)
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
