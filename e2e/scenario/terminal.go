package scenario

import (
	"context"
	_ "embed"
	"encoding/json"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed terminal.py
var terminalDriver string

// answer is what somebody types once a text is on the screen.
type answer struct {
	After string `json:"after"`
	Type  string `json:"type"`
}

// atTerminal runs a command on a terminal of the server. What the screen
// showed is in Stdout. A text that is never shown gives exit code 99.
func (e *Env) atTerminal(ctx context.Context, m lab.Machine, answers []answer, args ...string) (Result, error) {
	job, err := json.Marshal(map[string]any{"args": args, "answers": answers})
	if err != nil {
		return Result{}, err
	}
	return e.On(ctx, m, string(job), "python3", "-c", terminalDriver)
}
