package syscalls

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct {
		arch   string
		compat bool
		nr     uint16
		want   string
	}{
		{"x86_64", false, 0, "read"}, {"x86_64", false, 74, "fsync"}, {"x86_64", false, 318, "getrandom"},
		{"x86_64", true, 118, "fsync"}, {"x86_64", true, 240, "futex"},
		{"aarch64", false, 82, "fsync"}, {"aarch64", false, 22, "epoll_pwait"}, {"aarch64", false, 435, "clone3"},
		{"aarch64", true, 118, "fsync"}, {"aarch64", true, 270, "arm_fadvise64_64"}, {"aarch64", true, 0, "restart_syscall"},
		{"x86_64", false, 9999, "system call 9999"}, {"riscv64", false, 3, "system call 3"},
		{"aarch64", false, 65535, "system call 65535"},
	} {
		if got := Name(c.arch, c.compat, c.nr); got != c.want {
			t.Errorf("%s, compat %v, %d: %s, want %s", c.arch, c.compat, c.nr, got, c.want)
		}
	}
}

// The kernel's own headers know every number of theirs by the same name, where they are installed.
func TestKernelHeaders(t *testing.T) {
	for _, c := range []struct {
		arch   string
		compat bool
		file   string
	}{
		{"x86_64", false, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"},
		{"x86_64", true, "/usr/include/x86_64-linux-gnu/asm/unistd_32.h"},
		{"aarch64", false, "/usr/include/asm-generic/unistd.h"},
		{"aarch64", true, "/usr/arm-linux-gnueabihf/include/asm/unistd-eabi.h"},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Logf("not compared: %v", err)
			continue
		}
		number := regexp.MustCompile(`(?m)^#define __NR(?:3264)?_(\w+) (?:\(__NR_SYSCALL_BASE \+ )?(\d+)\)?\s*$`)
		n := 0
		for _, m := range number.FindAllStringSubmatch(string(text), -1) {
			nr, _ := strconv.ParseUint(m[2], 10, 16)
			if m[1] == "syscalls" || m[1] == "arch_specific_syscall" || otherwise[m[1]] ||
				c.arch == "aarch64" && !c.compat && nr >= 403 && nr <= 423 { // for machines of 32 bits only
				continue
			}
			n++
			if got := Name(c.arch, c.compat, uint16(nr)); got != m[1] {
				t.Errorf("%s: %d is %s, here %s", c.file, nr, m[1], got)
			}
		}
		if n < 280 {
			t.Errorf("%s: only %d calls found", c.file, n)
		}
	}
}

// otherwise are names that the generic header gives to what machines of 64 bits call otherwise.
var otherwise = map[string]bool{"fstatat": true, "sync_file_range2": true}
