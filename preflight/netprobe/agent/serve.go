package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/preflight/netprobe"
)

// maxPlan is far more than a plan for the largest cluster needs.
const maxPlan = 16 << 20

// errInputEnded is the error of an agent if its input ends before its tests are complete.
var errInputEnded = errors.New("the connection to the host that started the measurement ended")

// Serve runs an agent on an input and an output. It reads the plan, a line of JSON, and writes
// Ready. It starts its tests at the next line, and then writes Measured. When the input ends, it
// writes its Report. If the input ends earlier, the agent exits, so that a broken connection leaves
// no agent running.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(io.LimitReader(in, maxPlan))
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the plan of the measurement: %w", err)
	}
	var plan netprobe.Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		return fmt.Errorf("read the plan of the measurement: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin, end := make(chan struct{}), make(chan struct{})
	enc := json.NewEncoder(out)
	report := func(state string) {
		if err := enc.Encode(netprobe.Line{State: state}); err != nil {
			cancel(fmt.Errorf("report the state of the measurement: %w", err))
		}
	}
	done := make(chan struct{})
	go func() {
		if _, err := lines.ReadBytes('\n'); err != nil {
			cancel(errInputEnded)
			return
		}
		close(begin)
		_, _ = io.Copy(io.Discard, lines)
		select {
		case <-done:
			close(end)
		default:
			cancel(errInputEnded)
		}
	}()
	result, err := Run(ctx, &plan, func() { report(netprobe.Ready) }, begin, func() {
		close(done)
		report(netprobe.Measured)
	}, end)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return enc.Encode(netprobe.Line{State: netprobe.Reported, Report: result})
}
