package tracefile

import "io"

// WriteBinary writes a whole trace as a file: the opposite of WriteText.
func WriteBinary(w io.Writer, s Source) error {
	t, err := NewWriter(w, s.Header())
	if err != nil {
		return err
	}
	for e, err := range s.Events() {
		if err != nil {
			return err
		}
		if err := t.Event(e); err != nil {
			return err
		}
	}
	if s.Trailer() == nil {
		return t.Flush()
	}
	return t.Close(s.Trailer())
}
