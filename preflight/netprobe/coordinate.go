package netprobe

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Line is a line of an agent's output, a JSON object.
type Line struct {
	State  string  `json:"state"` // "ready", "measured", "report"
	Report *Report `json:"report,omitempty"`
	// Failed are the failed connections: with Measured those that this host began. The coordinator
	// then sends each host the ones to it.
	Failed []Failed `json:"failed,omitempty"`
}

// States of an agent.
const (
	Ready    = "ready"    // it listens
	Measured = "measured" // its tests are complete
	Reported = "report"   // the line has the report, and is the last one
)

// Link is the input and output of an agent: of a process, a session or a connection. Closing In
// ends the agent's input.
type Link struct {
	In  io.WriteCloser
	Out io.Reader
}

// Piped starts run, which is an agent (a call of Serve, or a session with another host), and
// returns its link. When run returns, reads and writes on the link fail with its error.
func Piped(run func(in io.Reader, out io.Writer) error) Link {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	go func() {
		err := run(in, out)
		in.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // writes fail from now on
		out.CloseWithError(cmp.Or(err, io.EOF))
	}()
	return Link{toAgent, fromAgent}
}

// Coordinate makes the agents of the links, by host, measure at the same time. It returns the
// reports, and in lost the errors of the other agents; the measurement continues without them. It
// calls progress when all agents have reached a state.
func Coordinate(ctx context.Context, plan Plan, links map[int]Link, progress func(state string)) (reports []*Report, lost map[int]error) {
	const grace = 15 * time.Second // to receive the reports after the time limit of the agents
	ctx, cancel := context.WithTimeout(ctx, plan.Limit.Duration()+grace)
	defer cancel()
	lost = map[int]error{}
	var mu sync.Mutex
	each := func(do func(i int, a *remoteAgent) error, agents map[int]*remoteAgent) {
		var all sync.WaitGroup
		for i, a := range agents {
			all.Go(func() {
				if err := do(i, a); err != nil {
					mu.Lock()
					defer mu.Unlock()
					lost[i] = err
				}
			})
		}
		all.Wait()
		for i := range lost {
			if a := agents[i]; a != nil {
				a.link.In.Close()
				delete(agents, i)
			}
		}
	}
	agents := map[int]*remoteAgent{}
	for i, l := range links {
		agents[i] = &remoteAgent{link: l, out: bufio.NewReader(l.Out)}
	}
	stop := context.AfterFunc(ctx, func() {
		for _, l := range links {
			l.In.Close() // the agents exit, which ends all waiting
			if out, is := l.Out.(io.Closer); is {
				out.Close()
			}
		}
	})
	defer stop()
	each(func(i int, a *remoteAgent) error { return a.begin(plan, i) }, agents)
	progress(Ready)
	failed := map[int][]Failed{}
	each(func(i int, a *remoteAgent) error {
		if _, err := io.WriteString(a.link.In, "begin\n"); err != nil {
			return fmt.Errorf("start the measurement: %w", err)
		}
		line, err := a.expect(Measured)
		mu.Lock()
		defer mu.Unlock()
		failed[i] = line.Failed
		return err
	}, agents)
	progress(Measured)
	each(func(i int, a *remoteAgent) error {
		if err := a.end(failedAt(failed, i)); err != nil {
			return fmt.Errorf("end the measurement: %w", err)
		}
		line, err := a.expect(Reported)
		if err == nil && (line.Report == nil || line.Report.Self != i) {
			err = errors.New("read the report: it is from another host")
		}
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, line.Report)
		}
		return err
	}, agents)
	return reports, lost
}

// remoteAgent is the coordinator's end of a link.
type remoteAgent struct {
	link Link
	out  *bufio.Reader
}

// maxLine is far more than a report for the largest cluster needs.
const maxLine = 16 << 20

func (a *remoteAgent) begin(plan Plan, self int) error {
	plan.Self = self
	line, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if _, err := a.link.In.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("send the plan: %w", err)
	}
	_, err = a.expect(Ready)
	return err
}

// end sends the failed connections to the host, and ends the agent's input.
func (a *remoteAgent) end(failed []Failed) error {
	line, err := json.Marshal(Line{State: Measured, Failed: failed})
	if err == nil {
		_, err = a.link.In.Write(append(line, '\n'))
	}
	return cmp.Or(err, a.link.In.Close())
}

// expect reads until the agent reports the state. It ignores other lines, such as a login banner.
func (a *remoteAgent) expect(state string) (Line, error) {
	for read := 0; read < maxLine; {
		text, err := a.out.ReadSlice('\n')
		var whole []byte
		for errors.Is(err, bufio.ErrBufferFull) && len(whole) < maxLine {
			whole = append(whole, text...)
			text, err = a.out.ReadSlice('\n')
		}
		whole = append(whole, text...)
		read += len(whole)
		if err != nil {
			return Line{}, fmt.Errorf("wait for the state %q of the agent: %w", state, err)
		}
		var line Line
		if json.Unmarshal(whole, &line) == nil && line.State == state {
			return line, nil
		}
	}
	return Line{}, fmt.Errorf("wait for the state %q of the agent: too much other output", state)
}
