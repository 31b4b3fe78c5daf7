package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// chromeEvent is what viewers read of a trace event.
type chromeEvent struct {
	Phase string          `json:"ph"`
	PID   json.Number     `json:"pid"`
	TID   json.Number     `json:"tid"`
	TS    json.Number     `json:"ts"`
	Dur   json.Number     `json:"dur"`
	ID    json.Number     `json:"id"`
	Name  string          `json:"name"`
	Scope string          `json:"s"`
	Args  json.RawMessage `json:"args"`
}

func decodeChrome(t testing.TB, b []byte) []chromeEvent {
	t.Helper()
	var events []chromeEvent
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	return events
}

// chromeSpan is a span that has begun.
type chromeSpan struct {
	name  string
	begin uint64
}

// checkChrome checks all that viewers rely on: JSON in valid UTF-8, args that are objects, integers that
// JavaScript holds, spans that are closed and strictly nest within each other on every track.
func checkChrome(b []byte) error {
	var events []chromeEvent
	if !utf8.Valid(b) {
		return fmt.Errorf("the output is not UTF-8")
	}
	if err := json.Unmarshal(b, &events); err != nil {
		return err
	}
	open := map[string][]chromeSpan{} // by track
	last := map[string]uint64{}       // time of the last begin or end on a track
	for i, e := range events {
		if err := checkChromeEvent(e); err != nil {
			return fmt.Errorf("event %d (%s %q): %w", i, e.Phase, e.Name, err)
		}
		if e.Phase != "B" && e.Phase != "E" {
			continue
		}
		track, at := e.PID.String()+"/"+e.TID.String(), nanoseconds(e.TS)
		stack := open[track]
		if at < last[track] {
			return fmt.Errorf("event %d (%s %q): track %s goes back by %d ns", i, e.Phase, e.Name, track, last[track]-at)
		}
		last[track] = at
		if e.Phase == "B" {
			open[track] = append(stack, chromeSpan{e.Name, at})
			continue
		}
		if len(stack) == 0 {
			return fmt.Errorf("event %d ends nothing on track %s", i, track)
		}
		open[track] = stack[:len(stack)-1]
	}
	for track, stack := range open {
		if len(stack) > 0 {
			return fmt.Errorf("track %s: %q never ends", track, stack[0].name)
		}
	}
	return nil
}

func checkChromeEvent(e chromeEvent) error {
	if !strings.Contains("BEiCMTsf", e.Phase) || len(e.Phase) != 1 {
		return fmt.Errorf("unexpected phase %q", e.Phase)
	}
	if (e.Phase == "i") != (e.Scope != "") {
		return fmt.Errorf("scope %q", e.Scope)
	}
	if (e.Phase == "M") != (e.TS == "") {
		return fmt.Errorf("time %q", e.TS)
	}
	for _, id := range []json.Number{e.PID, e.TID} {
		// Perfetto reads ids into 32 bits, and takes 0 for the idle task.
		if n, err := id.Int64(); err != nil || n <= 0 || n > math.MaxUint32 {
			return fmt.Errorf("id %s", id)
		}
	}
	if !bytes.HasPrefix(e.Args, []byte("{")) {
		return fmt.Errorf("args are no object: %s", e.Args)
	}
	var values map[string]any
	d := json.NewDecoder(bytes.NewReader(e.Args))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return err
	}
	for key, v := range values {
		if n, ok := v.(json.Number); ok && !strings.Contains(n.String(), ".") {
			if i, err := n.Int64(); err != nil || i > maxExact || i < -maxExact {
				return fmt.Errorf("%s is %s, which JavaScript rounds", key, n)
			}
		}
	}
	return nil
}

// nanoseconds turns microseconds with three decimals back.
func nanoseconds(ts json.Number) (ns uint64) {
	for _, c := range ts.String() {
		if c != '.' {
			ns = 10*ns + uint64(c-'0')
		}
	}
	return ns
}
