// Package vmtest boots real Debian kernels in QEMU, without KVM, and tries bootscope in each: does
// every probe attach in the way that is expected of that kernel, does a Python start-up come out
// whole and right, is the kernel still well afterwards? docs/kernels.md is made of the answers.
//
// A guest is a kernel package and an initramfs of the same suite's packages (busybox, Python) with
// the static bootscope binary and the scripts in guest/. It writes its results as a tar archive onto a
// virtual disk; the host reads the traces with the packages that every user's report is made with.
//
// Everything here is a test behind the build tag vmtest, since it downloads some hundred megabytes
// and takes minutes. Packages come from the mirror that this machine's apt uses and are kept in
// build/vm; remove that directory to get the newest ones.
//
// Two kernels are built here from packaged source, as small as they can be, which takes more CPU time than all else
// (TestBuiltKernels tells how much) and is not done again while what they are to have stays the same. One of them
// is built by make vmtest-complete only.
//
// One guest, and anything by hand in one (paths are absolute, or start in this directory):
//
//	go test -tags vmtest -v ./scripts/vmtest -run TestKernels/amd64-5.10
//	go test -tags vmtest -v ./scripts/vmtest -run TestScript/arm64-6.1 -args -script /tmp/try.sh -add /tmp/tool
package vmtest
