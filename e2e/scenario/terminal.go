package scenario

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed terminal.py
var terminalDriver string

// answer is the text to type after a text is on the screen.
type answer struct {
	After string `json:"after"`
	Type  string `json:"type"`
}

// atTerminal runs a command on a terminal of the server. Stdout contains the text of the
// screen. The exit code is 99 if an expected text does not appear.
func atTerminal(ctx context.Context, e *Env, m lab.Machine, answers []answer, args ...string) (Result, error) {
	job, err := json.Marshal(map[string]any{"args": args, "answers": answers})
	if err != nil {
		return Result{}, err
	}
	return e.On(ctx, m, string(job), "python3", "-c", terminalDriver)
}

// endedWithin checks that a command at a terminal has ended within limit after the last key.
func (r Result) endedWithin(limit time.Duration) error {
	_, after, found := strings.Cut(r.Stdout, "\nended ")
	if !found {
		return errors.New("the terminal does not report the end of the command")
	}
	var seconds float64
	if _, err := fmt.Sscanf(after, "%f s after", &seconds); err != nil {
		return err
	}
	if seconds > limit.Seconds() {
		return fmt.Errorf("the command ended %.1f s after the last key, want at most %s", seconds, limit)
	}
	return nil
}
