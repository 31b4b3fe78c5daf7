package export

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestArgs(t *testing.T) {
	tests := []struct {
		name string
		add  func(a *args)
		want string
	}{
		{"nothing", func(a *args) {}, `{}`},
		{"text", func(a *args) { a.text("path", `/a "b"\c`) }, `{"path":"/a \"b\"\\c"}`},
		{"control bytes", func(a *args) { a.text("comm", "a\x00\n\x1b\x7f") }, `{"comm":"a\u0000\u000a\u001b\u007f"}`},
		{"UTF-8", func(a *args) { a.text("comm", "é€😀\u2028") }, "{\"comm\":\"é€😀\u2028\"}"},
		{"no UTF-8", func(a *args) { a.text("comm", "a\xffb\xe2\x82") }, "{\"comm\":\"a\ufffdb\ufffd\ufffd\",\"comm_hex\":\"61ff62e282\"}"},
		{"a real U+FFFD", func(a *args) { a.text("comm", "\ufffd") }, "{\"comm\":\"\ufffd\"}"},
		{"list", func(a *args) { a.texts("argv", []string{"sh", "-c", ""}) }, `{"argv":["sh","-c",""]}`},
		{"empty list", func(a *args) { a.texts("argv", nil) }, `{"argv":[]}`},
		{"list with no UTF-8", func(a *args) { a.texts("argv", []string{"a", "\xff"}) }, "{\"argv\":[\"a\",\"\ufffd\"],\"argv_hex\":[\"61\",\"ff\"]}"},
		{"numbers", func(a *args) { a.number("fd", -2); a.number("n", 1<<53) }, `{"fd":-2,"n":9007199254740992}`},
		{"numbers that JavaScript rounds", func(a *args) { a.number("n", 1<<53+1); a.number("m", math.MinInt64) },
			`{"n":"9007199254740993","m":"-9223372036854775808"}`},
		{"addresses", func(a *args) { a.hex("sp", math.MaxUint64) }, `{"sp":"0xffffffffffffffff"}`},
		{"bool", func(a *args) { a.bool("cut", true) }, `{"cut":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a args
			tt.add(&a)
			got := "{" + string(a.b) + "}"
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%s is no JSON", got)
			}
		})
	}
}

func TestAppendMicros(t *testing.T) {
	tests := map[uint64]string{0: "0.000", 1: "0.001", 999: "0.999", 1_000: "1.000", 12_345_678_901: "12345678.901"}
	for ns, want := range tests {
		if got := string(appendMicros(nil, ns)); got != want {
			t.Errorf("%d ns: got %s µs, want %s", ns, got, want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\xff\"\\\n", "é\xe2\x82", strings.Repeat("/x", 2000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(appendString(nil, s), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}
