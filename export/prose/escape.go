package prose

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of processes, arguments and paths are bytes that anyone can choose. Their escapes:
//
// In JSON a byte that is no UTF-8 becomes the four characters \xNN, since JSON can't hold it. In text that
// holds for each byte or character that a terminal might obey or not show, with \n and \t for the
// common ones. A backslash stays one (unit names are full of \x2d), so a name that has these very
// characters can't be told apart.

// ValidUTF8 is the escape for JSON.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return escape(s, func(rune) bool { return true })
}

func ValidAll(list []string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = ValidUTF8(list[i])
	}
	return out
}

// Printable is the escape for text.
func Printable(s string) string {
	return escape(s, unicode.IsPrint)
}

func escape(s string, keep func(rune) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case keep(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
	}
	return b.String()
}

// ShellQuote writes arguments so that a shell would read them the same, as far as they are Printable.
func ShellQuote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = Printable(a)
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`&|;<>()*?[]#~{}!") {
			quoted[i] = "'" + strings.ReplaceAll(Printable(a), "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
