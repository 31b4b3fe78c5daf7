// Package syscalls names system calls by the numbers that traces hold. There is one table for each
// architecture and one for its 32-bit programs. It must not know what a call means to whom.
package syscalls

import "strconv"

//go:generate go run ../../../scripts/syscallnames -out names_gen.go

// Name returns the name of a call on an architecture, as uname prints it; compat chooses the table of its
// 32-bit programs. A number without a name is shown as such.
func Name(arch string, compat bool, nr uint16) string {
	if table := tableOf(arch, compat); int(nr) < len(table) && table[nr] != "" {
		return table[nr]
	}
	return "system call " + strconv.Itoa(int(nr))
}

func tableOf(arch string, compat bool) []string {
	switch arch {
	case "x86_64", "amd64":
		if compat {
			return i386[:]
		}
		return x8664[:]
	case "aarch64", "arm64":
		if compat {
			return arm[:]
		}
		return arm64[:]
	}
	return nil
}
