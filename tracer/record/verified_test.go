//go:build linux && kerneltest

package record

import "testing"

// TestVerifierWork keeps programs cheap to load: in each boot the verifier follows them all. Where it can't
// follow loops by bpf_loop it takes seven times as many steps.
func TestVerifierWork(t *testing.T) {
	r, err := attach(Options{SampleHz: DefaultSampleHz, BufferBytes: DefaultBufferBytes, Notice: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if !r.loader.kernel.plan.Facts.Loop {
		t.Skip("this kernel has no bpf_loop (5.17)")
	}
	total := uint32(0)
	for _, a := range r.programs {
		if a.program == nil {
			continue
		}
		info, err := a.program.Info()
		if err != nil {
			t.Fatal(err)
		}
		n, ok := info.VerifiedInstructions()
		if !ok {
			t.Fatalf("the kernel doesn't tell how many instructions it verified of %s", a.name)
		}
		t.Logf("%-20s %d instructions", a.name, n)
		total += n
	}
	if total > 20000 {
		t.Errorf("the verifier took %d steps, want under 20000", total)
	}
}
