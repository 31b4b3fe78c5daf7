//go:build linux

package bootunit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnitIsValid lets systemd itself read the unit.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	unit := filepath.Join(t.TempDir(), UnitName)
	text := strings.Replace(unitText(Install{Dir: DefaultDir, Buffers: 40 << 20, Hold: 5 * time.Second}), binaryFile, "/bin/true", 1) // it looks for the program
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, UnitName) {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	if err != nil && strings.Contains(string(out), UnitName) {
		t.Error(err)
	}
}

func TestUnitText(t *testing.T) {
	text := unitText(Install{Dir: "/srv/my 100%", Buffers: 40 << 20, Hold: 5 * time.Second})
	for _, want := range []string{
		"\nMemoryMax=168M\n", "\nTimeoutStartSec=10\n", "\nEnvironmentFile=-/etc/default/bootscope\n",
		"\nReadWritePaths=-/srv/my\\x20100%% -/etc/systemd/system/sysinit.target.wants\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the unit has no line %q", want)
		}
	}
	if i := strings.IndexByte(text, '@'); i >= 0 && !strings.HasPrefix(text[i:], "@system-service") {
		t.Errorf("something was not filled in: %.30q", text[i:])
	}
}

// TestOptionsText undoes what systemd does: the file's quotes, then those of each word.
func TestOptionsText(t *testing.T) {
	options := []string{"--dir", "/var/lib/bootscope", `--milestone=r=journal:a.service:on "it's" \d+ $x %n ` + "`b`", ""}
	text := optionsText(options)
	_, value, ok := strings.Cut(strings.TrimSuffix(text, "\"\n"), "\nBOOTSCOPE_OPTIONS=\"")
	if !ok {
		t.Fatalf("no value in %q", text)
	}
	got := splitWords(unescape(value))
	if strings.Join(got, "\n") != strings.Join(options, "\n") {
		t.Errorf("got %q, want %q, from %s", got, options, text)
	}
}

// unescape takes backslashes away as in double quotes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"`$", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// splitWords does as systemd's extract_first_word with EXTRACT_UNQUOTE.
func splitWords(s string) (words []string) {
	var word []byte
	quote, in := byte(0), false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			word, in = append(word, s[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && c == ' ':
			words, word, in = append(words, string(word)), nil, false
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// TestParseOptions reads what install writes, and what people make of it.
func TestParseOptions(t *testing.T) {
	written := []string{"--dir", "/var/lib/bootscope", `--milestone=r=journal:a.service:on "it's" \d+ $x %n ` + "`b`", ""}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"written by install", optionsText(written), written},
		{"by hand", "# no quotes\nBOOTSCOPE_OPTIONS=--sync 2s  --dir '/data/boot scope'\n", []string{"--sync", "2s", "--dir", "/data/boot scope"}},
		{"none", "OTHER=1\n", nil},
		{"the last counts", "BOOTSCOPE_OPTIONS=--a\nBOOTSCOPE_OPTIONS=\"--b\"\n", []string{"--b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseOptions(test.text)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
		})
	}
	if _, err := parseOptions("BOOTSCOPE_OPTIONS=\"--a\n"); err == nil {
		t.Error("a quote that is not closed is no mistake")
	}
}
