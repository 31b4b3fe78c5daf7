//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"github.com/bootscope/bootscope/tracer/event"
	"os"
	"strconv"
	"testing"
)

func TestZZ(t *testing.T) {
	tr := readTrace(t, os.Getenv("T"))
	pid, _ := strconv.Atoi(os.Getenv("P"))
	fmt.Printf("%+v\n", tr.Header().Probes)
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		h := e.Head()
		hit := int(h.PID) == pid || int(h.TID) == pid
		switch x := e.(type) {
		case *event.Switch:
			hit = hit || int(x.Next) == pid
		case *event.Waking:
			hit = hit || int(x.Target) == pid
		case *event.Fork:
			hit = hit || int(x.ChildPID) == pid
		}
		if hit {
			fmt.Printf("%d [%d] %s %+v %.60q\n", h.Time, h.CPU, event.Kind(h.Kind), e, h.TailBytes())
		}
	}
}
