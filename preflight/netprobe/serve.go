package netprobe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Line is what an agent tells whoever started it, one JSON object a line.
type Line struct {
	State  string  `json:"state"` // "ready", "measured", "report"
	Report *Report `json:"report,omitempty"`
}

// States of an agent.
const (
	Ready    = "ready"    // it listens
	Measured = "measured" // it has tried the others
	Reported = "report"   // the line has the report, and is the last
)

// maxPlan is far above the plan of as many hosts as a cluster can have.
const maxPlan = 16 << 20

// Serve is an agent by its standard input and output: it reads the plan, a line of
// JSON; says Ready; begins at the next line; says Measured; and gives its Report when its
// input ends. That input which ends sooner ends the agent, so that none is left
// behind where a connection breaks.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(io.LimitReader(in, maxPlan))
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the probe's plan: %w", err)
	}
	var plan Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		return fmt.Errorf("read the probe's plan: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin, end := make(chan struct{}), make(chan struct{})
	enc := json.NewEncoder(out)
	tell := func(state string) {
		if err := enc.Encode(Line{State: state}); err != nil {
			cancel(fmt.Errorf("tell how far the measurement is: %w", err))
		}
	}
	done := make(chan struct{})
	go func() {
		if _, err := lines.ReadBytes('\n'); err != nil {
			cancel(errors.New("whoever asked for the measurement is gone"))
			return
		}
		close(begin)
		_, _ = io.Copy(io.Discard, lines)
		select {
		case <-done:
			close(end)
		default:
			cancel(errors.New("whoever asked for the measurement is gone"))
		}
	}()
	report, err := Run(ctx, &plan, func() { tell(Ready) }, begin, func() {
		close(done)
		tell(Measured)
	}, end)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return enc.Encode(Line{State: Reported, Report: report})
}
