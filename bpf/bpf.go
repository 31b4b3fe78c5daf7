// Package bpf holds the kernel side of bootscope: the BPF programs, the wire contract (events.h)
// and the loader that bpf2go generates from them. The objects are committed, so a build needs Go
// only; make generate makes them anew with clang and the libbpf headers.
//
// It must not know what events mean: tracer/event decodes them, tracer/record attaches programs.
package bpf

//go:generate go tool bpf2go -go-package bpf -target amd64,arm64 -cc clang -no-strip=false Core core.bpf.c -- -O2 -mcpu=v2 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -go-package bpf -target amd64,arm64 -cc clang -no-strip=false Plain plain.bpf.c -- -O2 -mcpu=v2 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// Of what clang writes, the relocations of types and the labels of jumps are a third, and nobody needs them.
//
//go:generate find . -name *_bpfel.o -exec llvm-objcopy --remove-section=.rel.BTF --remove-section=.rel.BTF.ext --wildcard --strip-symbol=LBB* {} ;
//go:generate go run ./gen -object core_x86_bpfel.o -header events.h -out ../tracer/event/events_gen.go -docs ../docs/events.md
