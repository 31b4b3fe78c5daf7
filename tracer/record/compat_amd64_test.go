//go:build linux && kerneltest

package record_test

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

const (
	compatOpen     = "/etc/passwd"
	compatMissing  = "/no/such/file/for/32/bits"
	compatNapNanos = 30_000_000
)

// program32 returns a 32-bit program that opens one file with open and one with openat, naps and exits.
func program32() []byte {
	const base, headers = 0x08048000, 52 + 32
	le := binary.LittleEndian
	var code []byte
	var patches []func(end uint32)
	// data puts bytes behind the code and the address of them into the code.
	data := []byte{}
	address := func(b []byte) {
		at, offset := len(code), len(data)
		data = append(data, b...)
		code = append(code, 0, 0, 0, 0)
		patches = append(patches, func(end uint32) { le.PutUint32(code[at:], end+uint32(offset)) })
	}
	mov := func(register byte, value int32) { code = le.AppendUint32(append(code, 0xb8+register), uint32(value)) }
	const eax, ecx, edx, ebx = 0, 1, 2, 3
	call := func() { code = append(code, 0xcd, 0x80) } // int 0x80

	mov(eax, 5) // open(compatOpen, O_RDONLY)
	code = append(code, 0xb8+ebx)
	address([]byte(compatOpen + "\x00"))
	mov(ecx, unix.O_RDONLY)
	call()
	mov(eax, 295) // openat(AT_FDCWD, compatMissing, O_RDONLY|O_CLOEXEC)
	mov(ebx, unix.AT_FDCWD)
	code = append(code, 0xb8+ecx)
	address([]byte(compatMissing + "\x00"))
	mov(edx, unix.O_CLOEXEC)
	call()
	mov(eax, 162) // nanosleep({0, compatNapNanos}, 0)
	code = append(code, 0xb8+ebx)
	address(le.AppendUint32(le.AppendUint32(nil, 0), compatNapNanos))
	mov(ecx, 0)
	call()
	mov(eax, 1) // exit(7)
	mov(ebx, 7)
	call()
	for _, patch := range patches {
		patch(base + headers + uint32(len(code)))
	}
	return slices.Concat(elf32(base, headers, uint32(len(code)+len(data))), code, data)
}

// elf32 returns the headers of an executable in one segment.
func elf32(base, headers, size uint32) []byte {
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	for _, half := range []uint16{2, 3} { // executable, 386
		b = le.AppendUint16(b, half)
	}
	for _, word := range []uint32{1, base + headers, 52, 0, 0} { // version, entry, program headers, no sections
		b = le.AppendUint32(b, word)
	}
	for _, half := range []uint16{52, 32, 1, 40, 0, 0} {
		b = le.AppendUint16(b, half)
	}
	for _, word := range []uint32{1, 0, base, base, headers + size, headers + size, 7, 0x1000} { // loaded, all rights
		b = le.AppendUint32(b, word)
	}
	return b
}

// TestCompat records a 32-bit program, whose system calls have other numbers and registers.
func TestCompat(t *testing.T) {
	program := t.TempDir() + "/program32"
	if err := os.WriteFile(program, program32(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, noBTF := range []bool{false, true} {
		o := record.Options{NoBTF: noBTF, Output: output(t), Command: []string{program}}
		if r := run(t, recorder(t, o)); r.status != 7 {
			t.Fatalf("status %d, want the program's 7: %s", r.status, r.stderr)
		}
		tr := readWhole(t, o.Output)
		pid := int(tr.Header().CommandPID)
		opens := of[*event.Open](tr, pid)
		opens = opens[max(len(opens)-2, 0):] // before exec, the process was a copy of the recorder
		if len(opens) != 2 {
			t.Fatalf("%d opens, want 2", len(opens))
		}
		name := string(opens[0].TailBytes())
		if p := tr.paths[opens[0].File]; p != nil {
			name = p.Path()
		}
		if name != compatOpen || opens[0].Result < 0 || opens[0].Flags != unix.O_RDONLY {
			t.Errorf("no BTF: %v; open: %q, %+v", noBTF, name, opens[0])
		}
		if string(opens[1].TailBytes()) != compatMissing || opens[1].Result != -int32(unix.ENOENT) || opens[1].Flags != unix.O_CLOEXEC {
			t.Errorf("no BTF: %v; openat: %q, %+v", noBTF, opens[1].TailBytes(), opens[1])
		}
		for _, o := range opens {
			if o.How&event.OpenCompat == 0 || o.UserSP == 0 || o.UserSP>>32 != 0 {
				t.Errorf("no BTF: %v; how %d, stack pointer %#x of a 32-bit program", noBTF, o.How, o.UserSP)
			}
		}
		checkCompatNap(t, tr, pid, noBTF)
	}
}

// checkCompatNap checks that the sleep is in a system call of the other table, where that can be known.
func checkCompatNap(t *testing.T, tr *trace, pid int, noBTF bool) {
	t.Helper()
	var args []string
	for _, a := range of[*event.Args](tr, pid) {
		args, _ = a.Argv()
	}
	if len(args) != 1 || args[0] == "" {
		t.Errorf("no BTF: %v; the arguments are %q, want its name", noBTF, args)
	}
	for _, s := range process(t, tr.timeline(t), pid).Threads[0].Sleeps {
		if s.Time >= compatNapNanos {
			if !noBTF && (s.Syscall != 162 || !s.Compat) || noBTF && s.Syscall != event.NoSyscall {
				t.Errorf("no BTF: %v; it naps in system call %d (compat: %v)", noBTF, s.Syscall, s.Compat)
			}
			return
		}
	}
	t.Errorf("no BTF: %v; no sleep of %s", noBTF, ms(compatNapNanos))
}
