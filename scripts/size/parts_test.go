package main

import "testing"

func TestPartOf(t *testing.T) {
	for _, tt := range []struct{ symbol, pkg, part string }{
		{"net.(*conn).Read", "net", "D-Bus and sockets"},
		{"net/netip.Addr.String", "net/netip", "D-Bus and sockets"},
		{"github.com/cilium/ebpf/btf.(*Spec).TypeByName", "github.com/cilium/ebpf/btf", "eBPF loader"},
		{"github.com/bootscope/bootscope/bpf..gobytes.1", "github.com/bootscope/bootscope/bpf", "BPF programs"},
		{"github.com/bootscope/bootscope/tracer/record.Run", "github.com/bootscope/bootscope/tracer/record", "recorder"},
		{"github.com/bootscope/bootscope/tracer/python.Flat", "github.com/bootscope/bootscope/tracer/python", "analysis"},
		{"github.com/godbus/dbus/v5.Dial.func1", "github.com/godbus/dbus/v5", "D-Bus and sockets"},
		{"slices.SortFunc[go.shape.[]github.com/cilium/ebpf/btf.Type]", "slices", "Go's runtime and library"},
		{"type:.eq.encoding/json.field", "encoding/json", "JSON"},
		{"type:.eq.[3]interface {}", "runtime", "Go's runtime and library"},
		{"type:.eq.struct { os/exec.in string; os/exec.out string }", "runtime", "Go's runtime and library"},
		{"go:itab.*os.File,io.Writer", "runtime", "Go's runtime and library"},
		{"$f64.4059000000000000", "runtime", "Go's runtime and library"},
		{"callRet", "runtime", "Go's runtime and library"},
		{"network.Dial", "network", ""},
		{"example.com/new.Func", "example.com/new", ""},
	} {
		if got := packageOf(tt.symbol); got != tt.pkg {
			t.Errorf("the package of %s is %q, want %q", tt.symbol, got, tt.pkg)
		}
		if got := partOf(tt.pkg); got != tt.part {
			t.Errorf("%s belongs to %q, want %q", tt.pkg, got, tt.part)
		}
	}
}
