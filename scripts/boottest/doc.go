// Package boottest boots a whole Debian in QEMU, without KVM, with the unit that bootscope install
// makes, and compares the recording with what others saw of that boot: systemd-analyze, the audit log,
// and the planted services in guest/, which log their own truth. Then it breaks the recorder in several
// ways: the boot has to reach the same target each time, and the log to say one clear line. Others begin before
// systemd does, in an initramfs or after it, install on the running system, or never get to write.
//
// Everything here is a test behind the build tag vmtest: it needs root (for loop mounts), downloads some
// hundred megabytes and takes minutes. The root file system is kept in build/boottest; remove that
// directory to get the newest packages.
//
//	go test -tags vmtest -v -timeout 40m ./scripts/boottest -run TestBoot
package boottest
