package kills

import "testing"

func TestEntriesOf(t *testing.T) {
	const began = `{"time":"2026-11-28T15:35:48Z","step":"record","event":"began"}`
	for text, want := range map[string]int{
		"":                                      0,
		"\n" + began + "\n\n" + began + "\n":    2,
		"\n" + began + "\n" + began[:60]:        1, // killed in the middle of a write
		"\n" + began[:60] + "\n" + began + "\n": 1, // the next run appended to it
		"\n" + began + "\n" + began[1:] + "\n":  -1,
		"\n" + began + "\n\x00\x00\x00" + began: -1,
	} {
		entries, err := entriesOf(text)
		if got := len(entries); err != nil && want != -1 || err == nil && got != want {
			t.Errorf("entriesOf(%q): got %d entries, %v, want %d", text, got, err, want)
		}
	}
}
