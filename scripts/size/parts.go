package main

import (
	"slices"
	"strings"
)

// A part is what some packages are there for.
type part struct {
	name, why string
	// packages, each with all below it. The longest that fits decides.
	packages []string
}

const module = "github.com/bootscope/bootscope"

// tablesPart is a section without symbols of its own.
const tablesPart = "function tables"

var parts = []part{
	{"BPF programs", "what runs in the kernel, with and without BTF; for this architecture only", []string{module + "/bpf"}},
	{"recorder", "choosing and attaching probes, draining, the boot unit, what BPF can't see", []string{
		module + "/tracer/record", module + "/tracer/system", module + "/tracer/bootunit", module + "/tracer/bootinit", module + "/tracer/milestone"}},
	{"analysis", "reading traces, timeline, import trees, findings", []string{
		module + "/tracer"}},
	{"reports and exports", "text, JSON, Chrome, Perfetto, pprof, perf; the commands themselves", []string{
		module + "/export", "main", "google.golang.org/protobuf"}},
	{"eBPF loader", "cilium/ebpf: loads and relocates programs without clang or libbpf on the board", []string{
		"github.com/cilium/ebpf", "debug", "internal/zstd", "internal/saferio", "go", "compress/zlib", "hash/adler32"}},
	{"compression", "zstd for traces, gzip for pprof's files", []string{
		"github.com/klauspost/compress", "compress", "hash"}},
	{"D-Bus and sockets", "asks systemd when units started; serves `view`; users and groups", []string{
		"github.com/godbus", "net", "vendor/golang.org/x/net", "os/user", "encoding/xml", "internal/nettrace", "internal/singleflight"}},
	{"command line", "cobra: help, completions, flags", []string{
		"github.com/spf13", "text", "encoding/csv", "golang.org/x/term", "github.com/inconshreveable"}},
	{"pprof", "google/pprof's profile, which is checked before it is written", []string{
		"github.com/google/pprof", "regexp"}},
	{"JSON", "header and trailer of traces, --json", []string{"encoding/json"}},
	{"random numbers", "crypto/rand for the secret path of `view`, with the self-tests of its generator", []string{"crypto", "math/big"}},
	{"Go's runtime and library", "garbage collector, scheduler, formatting, files, time, sorting", []string{
		"runtime", "internal", "reflect", "fmt", "os", "syscall", "time", "strings", "bytes", "unicode", "strconv", "slices",
		"sort", "maps", "sync", "math", "errors", "io", "bufio", "path", "context", "log", "iter", "cmp", "unique", "weak", "container", "encoding", "embed",
		"flag", "structs", "golang.org/x/sys", "golang.org/x/sync", "vendor"}},
	{tablesPart, "from addresses to functions and lines: the garbage collector needs them, and whoever reads a crash", nil},
}

// partOf returns the name of the part that a package belongs to, "" for none.
func partOf(pkg string) (name string) {
	longest := -1
	for _, p := range parts {
		for _, prefix := range p.packages {
			if len(prefix) > longest && (pkg == prefix || strings.HasPrefix(pkg, prefix+"/")) {
				name, longest = p.name, len(prefix)
			}
		}
	}
	return name
}

func reasonOf(name string) string {
	if i := slices.IndexFunc(parts, func(p part) bool { return p.name == name }); i >= 0 {
		return parts[i].why
	}
	return ""
}

// packageOf returns the package of a symbol such as "net/url.(*URL).String" or "type:.eq.net/url.URL".
// What has no name of Go's (assembly, constants, merged strings and types) counts as the runtime's.
func packageOf(symbol string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash."} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	name, _, _ := strings.Cut(symbol, "[") // the types of an instance have packages of their own
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 || strings.ContainsAny(name[:slash+dot], "$: {") {
		return "runtime"
	}
	return name[:slash+dot]
}
