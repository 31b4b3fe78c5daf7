//go:build linux

package record

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/btf"
)

// ownTypes is where a kernel has its own BTF.
const ownTypes = "/sys/kernel/btf/vmlinux"

func hasOwnTypes() bool {
	_, err := os.Stat(ownTypes)
	return err == nil
}

// openTypes parses the kernel's types: its own, or those that a file has.
func openTypes(file string) (*btf.Spec, error) {
	if file == "" {
		types, err := btf.LoadKernelSpec()
		if err != nil {
			return nil, fmt.Errorf("no usable BTF (CONFIG_DEBUG_INFO_BTF, or --btf FILE): %w", err)
		}
		return types, nil
	}
	if err := checkTypesFile(file); err != nil {
		return nil, fmt.Errorf("--btf: %w", err)
	}
	types, err := btf.LoadSpec(file)
	if err != nil {
		return nil, fmt.Errorf("--btf: %s has no BTF: %w", file, err)
	}
	return types, nil
}

var errOtherKernel = errors.New("is of another kernel than the one that runs")

// checkTypesFile refuses a file that is known to be of another kernel: a vmlinux has a build id, and if the
// kernel has BTF of its own, the file's is the same.
func checkTypesFile(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if id := elfBuildID(content); id != nil {
		notes, err := os.ReadFile("/sys/kernel/notes")
		if running := buildID(notes); err == nil && running != nil && !bytes.Equal(id, running) {
			return fmt.Errorf("%s %w: its build id is %x, the kernel's is %x", file, errOtherKernel, id, running)
		}
		return nil
	}
	if own, err := os.ReadFile(ownTypes); err == nil && isBTF(content) && !bytes.Equal(own, content) {
		return fmt.Errorf("%s %w: it differs from %s", file, errOtherKernel, ownTypes)
	}
	return nil
}

// isBTF tells whether content begins as BTF does (little-endian, version 1).
func isBTF(content []byte) bool { return bytes.HasPrefix(content, []byte{0x9f, 0xeb, 1}) }

// elfBuildID is the build id of an ELF file, nil if it is none or has none.
func elfBuildID(content []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE {
			continue
		}
		if notes, err := s.Data(); err == nil {
			if id := buildID(notes); id != nil {
				return id
			}
		}
	}
	return nil
}
