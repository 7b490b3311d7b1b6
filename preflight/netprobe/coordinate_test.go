package netprobe

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestNoAgent: the coordinator returns the error of an agent that cannot start.
func TestNoAgent(t *testing.T) {
	t.Parallel()
	link := Piped(func(io.Reader, io.Writer) error { return errors.New("ssh: no route to host") })
	reports, lost := Coordinate(t.Context(), Plan{Limit: 1}, map[int]Link{1: link}, func(string) {})
	if len(reports) > 0 || lost[1] == nil || !strings.Contains(lost[1].Error(), "ssh: no route to host") {
		t.Errorf("%d reports, lost %v", len(reports), lost)
	}
}
