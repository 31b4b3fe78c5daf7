//go:build linux

package bootunit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Options reads the options of record --boot that the unit has, as systemd would; none if nothing is
// installed.
func (s System) Options() ([]string, error) {
	text, err := os.ReadFile(s.path(optionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the options of the boot's recording: %w", err)
	}
	options, err := parseOptions(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(optionsFile), err)
	}
	return options, nil
}

// parseOptions takes the file apart twice, as optionsText put it together: the last assignment counts.
func parseOptions(text string) (options []string, err error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), optionsVariable+"=")
		if !ok {
			continue
		}
		if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") { // elsewhere the file's quotes are none
			parts, err := words(value)
			if err != nil {
				return nil, err
			}
			value = strings.Join(parts, " ")
		}
		if options, err = words(value); err != nil {
			return nil, err
		}
	}
	return options, nil
}

// words splits at blanks outside of quotes. A backslash takes the next byte as it is.
func words(text string) (list []string, err error) {
	var word []byte
	var quote byte
	begun := false // a word may be empty, in quotes
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word, begun = append(word, text[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				list = append(list, string(word))
			}
			word, begun = nil, false
		default:
			word, begun = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote (%c) is not closed in %s", quote, text)
	}
	if begun {
		list = append(list, string(word))
	}
	return list, nil
}
