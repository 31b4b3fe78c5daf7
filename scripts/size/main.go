// Command size shows what is in the bootscope binary and why it is worth its bytes, as a table for
// docs/cost.md. It builds the binary as make build does, and once more with its symbols, and adds up the
// symbols by what they are there for. It fails if the binary is over its limit, or if a package has come in
// that nobody has given a reason for.
package main

import (
	"cmp"
	"debug/elf"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	arch := flag.String("arch", "arm64", "architecture to build for")
	limit := flag.Int64("limit", 10_000_000, "bytes that the binary may have")
	flag.Parse()
	if err := run(os.Stdout, *arch, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, arch string, limit int64) error {
	dir, err := os.MkdirTemp("", "bootscope-size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stripped, whole := filepath.Join(dir, "stripped"), filepath.Join(dir, "whole")
	if err := build(arch, stripped, "-s -w"); err != nil {
		return err
	}
	if err := build(arch, whole, ""); err != nil {
		return err
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return err
	}
	sizes, err := measure(whole)
	if err != nil {
		return err
	}
	printTable(w, arch, info.Size(), sizes)
	if unknown := sizes[""]; unknown > 0 {
		return fmt.Errorf("%d bytes are of packages that scripts/size/parts.go doesn't name", unknown)
	}
	if info.Size() > limit {
		return fmt.Errorf("the binary for %s has %d bytes, over its limit of %d", arch, info.Size(), limit)
	}
	return nil
}

func build(arch, out, flags string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", flags, "-o", out, "./cmd/bootscope")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building for %s: %w", arch, err)
	}
	return nil
}

// measure returns the bytes in the file of each part.
func measure(path string) (map[string]uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	sizes := map[string]uint64{}
	for _, s := range symbols {
		if int(s.Section) < len(f.Sections) && f.Sections[s.Section].Type != elf.SHT_NOBITS {
			part := partOf(packageOf(s.Name))
			if part == "" && s.Size > 0 {
				fmt.Fprintf(os.Stderr, "size: %s is of no part\n", s.Name)
			}
			sizes[part] += s.Size
		}
	}
	if tables := f.Section(".gopclntab"); tables != nil {
		sizes[tablesPart] = tables.Size
	}
	return sizes, nil
}

func printTable(w io.Writer, arch string, total int64, sizes map[string]uint64) {
	fmt.Fprintf(w, "| %s, %.2f MB in all | kB | why |\n|---|---:|---|\n", arch, float64(total)/1e6)
	rest := uint64(total)
	for _, name := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) }) {
		fmt.Fprintf(w, "| %s | %.0f | %s |\n", name, float64(sizes[name])/1e3, reasonOf(name))
		rest -= min(rest, sizes[name])
	}
	fmt.Fprintf(w, "| the rest | %.0f | types and strings that the linker has merged, alignment |\n", float64(rest)/1e3)
}
