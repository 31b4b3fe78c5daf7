//go:build linux && (amd64 || arm64)

package record

import "github.com/bootscope/bootscope/bpf"

// The built-in BPF objects, which are made for each architecture.
var loadCore, loadPlain, objectsChecksum = bpf.LoadCore, bpf.LoadPlain, bpf.Checksum

// haveObjects tells whether there are any.
func haveObjects() error { return nil }
