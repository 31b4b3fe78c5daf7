//go:build linux

package bootunit

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"time"
)

//go:embed bootscope.service
var unitTemplate string

// ownMemory is what the recorder needs beside its buffers and what waits to be written: the program
// itself, and the kernel's types while it attaches.
const ownMemory = 128 << 20

// startSlack is how much later than the recorder itself systemd lets the boot go on: when the recorder
// hangs.
const startSlack = 5 * time.Second

// unitText is the unit's file.
func unitText(i Install) string {
	return strings.NewReplacer(
		"@OPTIONS@", optionsFile,
		"@BINARY@", binaryFile,
		"@MEMORY@", fmt.Sprintf("%dM", (ownMemory+i.Buffers)>>20),
		"@START@", fmt.Sprintf("%.0f", (i.Hold+startSlack).Seconds()),
		"@DIR@", escapeUnit(i.Dir),
		"@WANTS@", path.Dir(wantsLink),
	).Replace(unitTemplate)
}

// escapeUnit writes a path so that systemd reads it as one word without specifiers.
func escapeUnit(path string) string {
	return strings.NewReplacer(`\`, `\\`, ` `, `\x20`, `%`, `%%`, `"`, `\"`, `'`, `\'`).Replace(path)
}

// optionsVariable holds the options in their file.
const optionsVariable = "BOOTSCOPE_OPTIONS"

// optionsText is the environment file that gives the recorder its options. systemd takes it apart twice:
// first the file's quotes, then, for $BOOTSCOPE_OPTIONS, each word's.
func optionsText(options []string) string {
	inFile := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`)
	words := make([]string, len(options))
	for i, o := range options {
		words[i] = quoteWord(o)
	}
	return "# Options of the boot's recording: bootscope record --help tells them.\n" +
		optionsVariable + `="` + inFile.Replace(strings.Join(words, " ")) + "\"\n"
}

func quoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(word) + "'"
}

// unescapeUnit is the opposite of escapeUnit.
func unescapeUnit(path string) string {
	return strings.NewReplacer(`\\`, `\`, `\x20`, ` `, `%%`, `%`, `\"`, `"`, `\'`, `'`).Replace(path)
}
