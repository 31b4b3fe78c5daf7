//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// loadAttr is BPF_PROG_LOAD's part of union bpf_attr, as far as it is used (linux/bpf.h).
type loadAttr struct {
	programType, instructionCount    uint32
	instructions, license            uint64
	logLevel, logSize                uint32
	log                              uint64
	kernelVersion, flags             uint32
	name                             [unix.BPF_OBJ_NAME_LEN]byte
	interfaceIndex, attach           uint32
	types                            uint32 // descriptor
	functionSize                     uint32
	functions                        uint64
	functionCount, lineSize          uint32
	lines                            uint64
	lineCount, target, targetProgram uint32
	_                                uint32
}

// functionInfoSize is the size of struct bpf_func_info.
const functionInfoSize = 8

// load loads the program. This is done here and not by the library, which would have to parse the kernel's
// types for the number of what the program is attached to.
func (planned *programPlan) load(maps map[string]*ebpf.Map) (*ebpf.Program, error) {
	if planned.Problem != "" {
		return nil, fmt.Errorf("program %s doesn't fit the kernel: %s", planned.Name, planned.Problem)
	}
	code := slices.Clone(planned.Instructions)
	for _, use := range planned.Maps {
		m := maps[use.Map]
		if m == nil || int(use.At)*8+8 > len(code) {
			return nil, fmt.Errorf("program %s wants a map %q, which there isn't", planned.Name, use.Map)
		}
		binary.NativeEndian.PutUint32(code[use.At*8+4:], uint32(m.FD()))
	}
	attr := loadAttr{
		programType: uint32(planned.Type), attach: uint32(planned.Attach), target: uint32(planned.Target),
		instructionCount: uint32(len(code) / 8),
	}
	copy(attr.name[:len(attr.name)-1], planned.Name)
	if len(planned.Types) > 0 {
		types, err := btf.NewHandleFromRawBTF(planned.Types)
		if err != nil {
			return nil, fmt.Errorf("loading the types of program %s: %w", planned.Name, err)
		}
		defer types.Close()
		attr.types, attr.functionSize = uint32(types.FD()), functionInfoSize
		attr.functionCount = uint32(len(planned.Functions) / functionInfoSize)
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	attr.instructions = address(&pinned, code)
	attr.license = address(&pinned, append([]byte(planned.License), 0))
	attr.functions = address(&pinned, planned.Functions)
	fd, err := attr.load()
	if err != nil {
		return nil, planned.explain(err, &attr)
	}
	return ebpf.NewProgramFromFD(fd)
}

// address returns where b is, which doesn't move until all is unpinned.
func address(pinned *runtime.Pinner, b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	pinned.Pin(&b[0])
	return uint64(uintptr(unsafe.Pointer(&b[0])))
}

// load makes the system call. The verifier gives up with EAGAIN when a signal comes, such as those by which
// the Go runtime interrupts threads.
func (attr *loadAttr) load() (int, error) {
	for range 20 {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EAGAIN && errno != unix.EINTR {
			return -1, errno
		}
	}
	return -1, unix.EAGAIN
}

// explain loads it again for the verifier's log, whose end has the reason. Without permission there is none.
func (planned *programPlan) explain(refused error, attr *loadAttr) error {
	err := fmt.Errorf("the kernel refuses program %s: %w", planned.Name, refused)
	if errors.Is(refused, unix.EPERM) {
		return err
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	log := make([]byte, 8<<20)
	attr.log, attr.logSize, attr.logLevel = address(&pinned, log), uint32(len(log)), 1
	if fd, err := attr.load(); err == nil {
		unix.Close(fd)
	}
	log, _, _ = bytes.Cut(log, []byte{0})
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	const reason = 3 // the last line is the verifier's statistics
	return fmt.Errorf("%w: %s", err, strings.Join(lines[max(0, len(lines)-reason):], "; "))
}
