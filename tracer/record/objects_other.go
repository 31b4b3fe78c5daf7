//go:build linux && !amd64 && !arm64

package record

import (
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
)

// haveObjects tells that there are none: nobody has tried any.
func haveObjects() error {
	return fmt.Errorf("recording works on amd64 and arm64, this is %s: there are no BPF programs for it (analysing a trace works here)",
		runtime.GOARCH)
}

func loadCore() (*ebpf.CollectionSpec, error)  { return nil, haveObjects() }
func loadPlain() (*ebpf.CollectionSpec, error) { return nil, haveObjects() }
func objectsChecksum() uint32                  { return 0 }
