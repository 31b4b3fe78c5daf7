package export

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// maxExact is the largest integer that JavaScript's numbers, and so most JSON readers, hold exactly
// together with all below it.
const maxExact = 1 << 53

// appendString appends a JSON string. Bytes that are no UTF-8 become U+FFFD, as JSON can't hold them.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		if n := plain(s[i:]); n > 0 {
			b = append(b, s[i:i+n]...)
			if i += n; i == len(s) {
				break
			}
		}
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // RuneError, which is U+FFFD, for what is no UTF-8
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

// plain is how many bytes a string begins with that stand for themselves.
func plain(s string) int {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// appendMicros appends nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1000, 10)
	rest := ns % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// args appends the members of a JSON object one by one.
type args struct{ b []byte }

func (a *args) key(k string) {
	if len(a.b) > 0 {
		a.b = append(a.b, ',')
	}
	a.b = append(appendString(a.b, k), ':')
}

// text adds a string. One that is no UTF-8 can't be had back from what is shown, so its bytes follow,
// in hexadecimal, under the key with "_hex" added: that also marks it.
func (a *args) text(k, s string) {
	a.key(k)
	a.b = appendString(a.b, s)
	if !utf8.ValidString(s) {
		a.key(k + "_hex")
		a.b = append(hex.AppendEncode(append(a.b, '"'), []byte(s)), '"')
	}
}

// texts adds an array of strings, and their bytes likewise if one of them is no UTF-8.
func (a *args) texts(k string, list []string) {
	valid := true
	a.key(k)
	a.b = append(a.b, '[')
	for i, s := range list {
		if i > 0 {
			a.b = append(a.b, ',')
		}
		a.b = appendString(a.b, s)
		valid = valid && utf8.ValidString(s)
	}
	a.b = append(a.b, ']')
	if valid {
		return
	}
	encoded := make([]string, len(list))
	for i, s := range list {
		encoded[i] = hex.EncodeToString([]byte(s))
	}
	a.texts(k+"_hex", encoded)
}

// number adds an integer, or a string of its digits if readers would round it.
func (a *args) number(k string, n int64) {
	a.key(k)
	if n > maxExact || n < -maxExact {
		a.b = append(strconv.AppendInt(append(a.b, '"'), n, 10), '"')
		return
	}
	a.b = strconv.AppendInt(a.b, n, 10)
}

// thousandths adds a decimal number.
func (a *args) thousandths(k string, n uint64) {
	a.key(k)
	a.b = appendMicros(a.b, n)
}

// hex adds an address or an id of 64 bits as a string.
func (a *args) hex(k string, n uint64) {
	a.key(k)
	a.b = append(strconv.AppendUint(append(a.b, `"0x`...), n, 16), '"')
}

func (a *args) bool(k string, v bool) {
	a.key(k)
	a.b = strconv.AppendBool(a.b, v)
}
