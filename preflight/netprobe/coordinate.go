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

// Link is an agent's input and output: a process, a session or a connection. Closing In
// ends the agent's input.
type Link struct {
	In  io.WriteCloser
	Out io.Reader
}

// Piped is the link to an agent that run is: a call of Serve, or a session with another
// host. When run ends, what it said last has been read, and its error is why nothing more
// comes, or goes in.
func Piped(run func(in io.Reader, out io.Writer) error) Link {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	go func() {
		err := run(in, out)
		in.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // nobody reads any more
		out.CloseWithError(cmp.Or(err, io.EOF))
	}()
	return Link{toAgent, fromAgent}
}

// Coordinate has the agents of the links, by their hosts, measure at the same time, and
// gives the reports of those that came to the end. What kept the others from it is in
// lost; the measurement goes on without them. tell is called when all are so far.
func Coordinate(ctx context.Context, plan Plan, links map[int]Link, tell func(state string)) (reports []*Report, lost map[int]error) {
	const grace = 15 * time.Second // for reports on their way when agents have ended
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
			l.In.Close() // agents end, and with them what is waited for
			if out, is := l.Out.(io.Closer); is {
				out.Close()
			}
		}
	})
	defer stop()
	each(func(i int, a *remoteAgent) error { return a.begin(plan, i) }, agents)
	tell(Ready)
	each(func(_ int, a *remoteAgent) error {
		if _, err := io.WriteString(a.link.In, "begin\n"); err != nil {
			return fmt.Errorf("begin to measure: %w", err)
		}
		_, err := a.expect(Measured)
		return err
	}, agents)
	tell(Measured)
	each(func(i int, a *remoteAgent) error {
		if err := a.link.In.Close(); err != nil {
			return fmt.Errorf("end the measurement: %w", err)
		}
		line, err := a.expect(Reported)
		if err == nil && (line.Report == nil || line.Report.Self != i) {
			err = errors.New("its report is another host's")
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

// maxLine is far above a report of as many hosts as a cluster can have.
const maxLine = 64 << 20

func (a *remoteAgent) begin(plan Plan, self int) error {
	plan.Self = self
	line, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if _, err := a.link.In.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("hand over the plan: %w", err)
	}
	_, err = a.expect(Ready)
	return err
}

// expect passes over lines that are no agent's: a login may greet.
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
			return Line{}, fmt.Errorf("the agent ended before it was %s: %w", state, err)
		}
		var line Line
		if json.Unmarshal(whole, &line) == nil && line.State == state {
			return line, nil
		}
	}
	return Line{}, fmt.Errorf("the agent was not %s, and wrote a lot", state)
}
