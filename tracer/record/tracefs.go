//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// tracepointFields are the fields whose offsets the programs need, in the order of struct
// tracepoint_offsets of bpf/config.h.
var tracepointFields = []struct {
	tracepoint, field string
	needed            bool // by every kernel's plain object; what others need is missed when they are attached
}{
	{"sched/sched_switch", "prev_pid", true},
	{"sched/sched_switch", "prev_state", true},
	{"sched/sched_switch", "next_pid", true},
	{"sched/sched_waking", "pid", true},
	{"task/task_newtask", "pid", true},
	{"task/task_newtask", "clone_flags", true},
	{"sched/sched_process_exec", "filename", true},
	{"sched/sched_process_exec", "old_pid", true},
	{"task/task_rename", "pid", true},
	{"task/task_rename", "newcomm", true},
	{"power/cpu_frequency", "state", false},
	{"power/cpu_frequency", "cpu_id", false},
	{"filemap/mm_filemap_add_to_page_cache", "i_ino", false},
	{"filemap/mm_filemap_add_to_page_cache", "index", false},
	{"filemap/mm_filemap_add_to_page_cache", "s_dev", false},
	{"filemap/mm_filemap_add_to_page_cache", "order", false}, // since 6.9
	{"vmscan/mm_vmscan_memcg_reclaim_end", "nr_reclaimed", false},
}

// setOffsets tells an object where the fields of the tracepoints are.
func setOffsets(spec *ebpf.CollectionSpec, insist bool) error {
	tracefs, err := tracefsDir()
	if err != nil {
		if insist {
			return err
		}
		return nil
	}
	offsets := make([]uint32, len(tracepointFields))
	formats := map[string]formatFields{}
	var missing []error
	for i, f := range tracepointFields {
		format, read := formats[f.tracepoint]
		if !read {
			format, err = readFormat(tracefs, f.tracepoint)
			formats[f.tracepoint] = format
		}
		at, ok := format[f.field]
		if !ok && f.needed && insist {
			missing = append(missing, errors.Join(err, fmt.Errorf("%s/events/%s/format has no field %s", tracefs, f.tracepoint, f.field)))
		}
		offsets[i] = uint32(at)
	}
	return errors.Join(append(missing, set(spec, map[string]any{"offsets": offsets}))...)
}

// tracefsDir returns where tracefs is, mounting it in its usual place if it is nowhere.
func tracefsDir() (string, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events"); err == nil {
			return dir, nil
		}
	}
	const usual = "/sys/kernel/tracing"
	if err := unix.Mount("tracefs", usual, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return "", fmt.Errorf("tracefs is not mounted, and mounting it at %s: %w", usual, err)
	}
	return usual, nil
}

// A tracepoint's fields, from its format file.
type formatFields map[string]int // name to offset

func readFormat(tracefs, tracepoint string) (formatFields, error) {
	path := tracefs + "/events/" + tracepoint + "/format"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFormat(string(text)), nil
}

// parseFormat reads lines such as "field:pid_t prev_pid;	offset:24;	size:4;	signed:1;".
func parseFormat(text string) formatFields {
	fields := formatFields{}
	for _, line := range strings.Split(text, "\n") {
		declaration, rest, ok := strings.Cut(strings.TrimSpace(line), ";")
		if !ok || !strings.HasPrefix(declaration, "field:") {
			continue
		}
		words := strings.Fields(declaration)
		name, _, _ := strings.Cut(words[len(words)-1], "[")
		var offset int
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "offset:%d;", &offset); err == nil {
			fields[name] = offset
		}
	}
	return fields
}
