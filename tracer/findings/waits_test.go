package findings

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
)

func TestStretches(t *testing.T) {
	for _, c := range []struct {
		name    string
		a, b    []stretch
		union   []stretch // of both
		overlap uint64
	}{
		{"none", nil, nil, nil, 0},
		{"apart", []stretch{{0, 10}}, []stretch{{20, 30}}, []stretch{{0, 10}, {20, 30}}, 0},
		{"touching", []stretch{{0, 10}}, []stretch{{10, 30}}, []stretch{{0, 30}}, 0},
		{"one in the other", []stretch{{0, 100}}, []stretch{{10, 30}, {40, 50}}, []stretch{{0, 100}}, 30},
		{"across", []stretch{{0, 10}, {20, 30}}, []stretch{{5, 25}}, []stretch{{0, 30}}, 10},
	} {
		if got := union(append(slices.Clone(c.b), c.a...)); !slices.Equal(got, c.union) {
			t.Errorf("%s: union %v", c.name, got)
		}
		if x, y := overlap(c.a, c.b), overlap(c.b, c.a); x != c.overlap || y != c.overlap {
			t.Errorf("%s: overlap %d and %d", c.name, x, y)
		}
		if length(c.union) != length(c.a)+length(c.b)-c.overlap {
			t.Errorf("%s: the lengths don't add up", c.name)
		}
	}
}

func TestServes(t *testing.T) {
	ip := func(s string) timeline.Address { return timeline.Address{IP: netip.MustParseAddrPort(s)} }
	unix := func(s string) timeline.Address { return timeline.Address{Path: s} }
	for _, c := range []struct {
		listener, wanted timeline.Address
		want             bool
	}{
		{unix("/run/a"), unix("/run/a"), true},
		{unix("/run/a"), unix("/run/b"), false},
		{unix("/run/a"), ip("127.0.0.1:80"), false},
		{timeline.Address{}, timeline.Address{}, false},
		{ip("127.0.0.1:80"), ip("127.0.0.1:80"), true},
		{ip("127.0.0.1:80"), ip("127.0.0.1:81"), false},
		{ip("10.0.0.1:80"), ip("127.0.0.1:80"), false},
		{ip("0.0.0.0:80"), ip("127.0.0.1:80"), true},
		{ip("0.0.0.0:80"), ip("[::1]:80"), false},
		{ip("[::]:80"), ip("127.0.0.1:80"), true},
		{ip("[::]:80"), ip("[::1]:80"), true},
	} {
		if got := serves(c.listener, c.wanted); got != c.want {
			t.Errorf("a listener at %q for a client of %q: %v", c.listener, c.wanted, got)
		}
	}
}
