package scenarios

import (
	"strings"
	"testing"
)

// TestElsewhere checks which scenarios run on foreign hosts, and that the others give a reason.
func TestElsewhere(t *testing.T) {
	var can []string
	for _, s := range All() {
		switch err := s.Elsewhere(); {
		case err == nil:
			can = append(can, s.Name)
		case !strings.HasPrefix(err.Error(), "scenario "+s.Name+" runs in the lab only: it "):
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if got := strings.Join(can, " "); got != "journey ctrl-c" {
		t.Errorf("scenarios on foreign hosts: got %s, want journey ctrl-c", got)
	}
}
