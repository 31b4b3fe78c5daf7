// Package idletest boots a Debian kernel in QEMU, without KVM, with real frequency scaling, and tries bootscope
// idle there: is every change of frequency counted, are governors restored however a comparison ends, how often
// does recording wake a machine that does nothing?
//
// The frequencies come from an ACPI table of our own (guest/cpufreq.asl): each CPU has three, and a spare serial
// port's scratch register as the control register. The guest writes its results to the fourth serial port.
// Everything here is a test behind the build tag vmtest; packages are kept in build/vm/idle.
//
//	go test -tags vmtest -v ./scripts/idletest
package idletest
