package ui

import (
	"fmt"
	"slices"
	"testing"
)

func TestFitLeavesOutGoodLines(t *testing.T) {
	var lines []Line
	for i := range 10 {
		l := Line{Name: fmt.Sprint(i), Tone: Good}
		if i%3 == 0 {
			l.Tone = Bad
		}
		lines = append(lines, l)
	}
	for room, want := range map[int]struct {
		names []string
		left  int
	}{
		10: {[]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, 0},
		9:  {[]string{"0", "1", "2", "3", "4", "5", "6", "9"}, 2},
		5:  {[]string{"0", "3", "6", "9"}, 6},
		2:  {[]string{"0"}, 9}, // a table with more rows than the terminal cannot be redrawn
	} {
		some, left := fit(lines, room)
		var names []string
		for _, l := range some {
			names = append(names, l.Name)
		}
		if !slices.Equal(names, want.names) || left != want.left {
			t.Errorf("room for %d: %q and %d more, want %q and %d", room, names, left, want.names, want.left)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 5, "too …"},
		{"노드가 없음", 7, "노드가…"},
		{"a\x1b[2J\r\nb\tc", 20, "a\ufffd[2J  b c"},
		{"narrow", 0, "…"},
	} {
		if got := cut(tc.text, tc.width); got != tc.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}
