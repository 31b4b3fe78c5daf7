package prose

import (
	"fmt"
	"strings"
)

// Secs are nanoseconds, written in JSON as seconds with as many decimals as it takes.
type Secs uint64

// MarshalJSON implements json.Marshaler. A float64 would not hold every nanosecond.
func (s Secs) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%d.%09d", s/1e9, s%1e9)
	text = strings.TrimRight(text, "0")
	return []byte(strings.TrimSuffix(text, ".")), nil
}

// Known returns a pointer to a value that was measured, and nil, which is null, for one that was not.
func Known[T any](v T, measured bool) *T {
	if !measured {
		return nil
	}
	return &v
}

// Named returns a name, or nil for none.
func Named(s string) *string { return Known(ValidUTF8(s), s != "") }
