package uitest

import (
	"fmt"

	"airgap.dev/airgap/internal/ui"
)

// Sayings is a progress that records its messages.
type Sayings struct {
	ui.Progress

	Said []string
}

// Say keeps the line.
func (s *Sayings) Say(format string, args ...any) {
	s.Said = append(s.Said, fmt.Sprintf(format, args...))
}
