package uitest

import (
	"fmt"

	"airgap.dev/airgap/internal/ui"
)

// Recorder is a progress that records its messages.
type Recorder struct {
	ui.Progress

	Said []string
}

// Say keeps the line.
func (s *Recorder) Say(format string, args ...any) {
	s.Said = append(s.Said, fmt.Sprintf(format, args...))
}
