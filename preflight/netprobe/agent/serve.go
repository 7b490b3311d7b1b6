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
// Ready. It starts its tests at the next line, and then writes Measured. The last line has the failed
// connections to this host. When the input ends, the agent writes its Report. If the input ends earlier, the agent exits, so that a broken connection leaves
// no agent running. The process has no privileges of root from Ready on, so it must be the agent's own.
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
	begin, end := make(chan struct{}), make(chan []netprobe.Failed, 1)
	enc := json.NewEncoder(out)
	report := func(line netprobe.Line) {
		if err := enc.Encode(line); err != nil {
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
		text, _ := lines.ReadBytes('\n')
		_, _ = io.Copy(io.Discard, lines)
		select {
		case <-done:
			var line netprobe.Line
			_ = json.Unmarshal(text, &line) // without the line, the other hosts report their packets
			end <- line.Failed
		default:
			cancel(errInputEnded)
		}
	}()
	listens := func() {
		if err := dropPrivileges(); err != nil {
			cancel(err)
			return
		}
		report(netprobe.Line{State: netprobe.Ready})
	}
	result, err := Run(ctx, &plan, listens, begin, func(failed []netprobe.Failed) {
		close(done)
		report(netprobe.Line{State: netprobe.Measured, Failed: failed})
	}, end)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return enc.Encode(netprobe.Line{State: netprobe.Reported, Report: result})
}
