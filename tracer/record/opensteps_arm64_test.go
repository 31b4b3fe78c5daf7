//go:build linux && kerneltest

package record_test

// legacyCalls has nothing to do: arm64 never had open and creat.
func (o *opener) legacyCalls() {}
