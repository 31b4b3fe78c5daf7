//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// Plans are kept in a file, so that the second start on a kernel needn't parse its types. The file is a help
// only: one that is missing, damaged, of another kernel or of another version of this program is as none, and
// is written anew.
const planFile = "start.json"

// Where plans are kept: by those who record by hand, and by install, beside the program. Early in a boot
// there may be no other file system than the root.
const (
	CacheDir   = "/var/cache/bootscope"
	InstallDir = "/usr/lib/bootscope"
)

// A planKey is what a plan is true of.
type planKey struct {
	Tool    string
	Objects uint32 // checksum of the BPF objects
	Kernel  string // its build id
}

type planDocument struct {
	Key  planKey
	Plan *plan
}

// planHeader begins the file; the checksum is of the rest.
const planHeader = "bootscope start 1 %08x\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newPlanKey(tool string) (planKey, error) {
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return planKey{}, fmt.Errorf("reading the kernel's build id: %w", err)
	}
	id := buildID(notes)
	if id == nil {
		return planKey{}, fmt.Errorf("/sys/kernel/notes has no build id")
	}
	return planKey{tool, objectsChecksum(), hex.EncodeToString(id)}, nil
}

// readPlan returns the plan that is kept for this key, or nil.
func readPlan(key planKey, dirs ...string) *plan {
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, planFile))
		if err != nil {
			continue
		}
		if p := parsePlan(text, key); p != nil {
			return p
		}
	}
	return nil
}

func parsePlan(text []byte, key planKey) *plan {
	header, body, _ := bytes.Cut(text, []byte("\n"))
	if string(header)+"\n" != fmt.Sprintf(planHeader, crc32.Checksum(body, castagnoli)) {
		return nil
	}
	var document planDocument
	if json.Unmarshal(body, &document) != nil || document.Key != key {
		return nil
	}
	return document.Plan
}

// keep writes the plan into a directory, which is made if need be.
func (p *plan) keep(key planKey, dir string) error {
	body, err := json.Marshal(planDocument{key, p})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, planFile+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	_, err = fmt.Fprintf(f, planHeader+"%s", crc32.Checksum(body, castagnoli), body)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, planFile))
}

// buildID finds the GNU build id among ELF notes: lengths of name and content, type, and both, padded to 4.
func buildID(notes []byte) []byte {
	const gnuBuildID = 3
	word := binary.NativeEndian.Uint32
	for len(notes) >= 12 {
		nameSize, size, kind := int(word(notes)), int(word(notes[4:])), word(notes[8:])
		begin := 12 + (nameSize+3)&^3
		end := begin + (size+3)&^3
		if nameSize > len(notes) || size > len(notes) || end > len(notes) {
			return nil
		}
		if kind == gnuBuildID && string(notes[12:12+nameSize]) == "GNU\x00" {
			return notes[begin : begin+size]
		}
		notes = notes[end:]
	}
	return nil
}
