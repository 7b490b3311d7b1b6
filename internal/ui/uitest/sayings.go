package uitest

import (
	"fmt"
	"sync"

	"airgap.dev/airgap/internal/ui"
)

// Recorder is a progress that records its messages.
type Recorder struct {
	ui.Progress

	mu   sync.Mutex
	Said []string
}

// Say keeps the line.
func (s *Recorder) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Said = append(s.Said, fmt.Sprintf(format, args...))
}
