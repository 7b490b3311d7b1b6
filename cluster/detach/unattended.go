package detach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

const (
	recent = 10 * time.Minute // age of a result that a later run of the same command takes over
	killed = 128 + 9          // exit code if the unit was killed, as a shell has it
)

// unattended starts and shows a run for airgap on another host. Its connection can end at any time.
type unattended struct {
	*runner

	order   Order
	signals chan os.Signal // from the beginning: Ctrl-C of the first host may come before the start
}

// runOrder runs the command in its unit. If the same command runs already, or has just succeeded, it shows that run.
func (u *unattended) runOrder(ctx context.Context, c Command) (Outcome, error) {
	u.signals = make(chan os.Signal, 4)
	signal.Notify(u.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(u.signals)
	if ctx.Err() != nil {
		return Outcome{}, ctx.Err()
	}
	if err := mayStart(u.machine); err != nil {
		return Outcome{Note: fmt.Sprintf(stays, err)}, nil
	}
	for end := time.Now().Add(requestLimit + answerLimit); ; { // the unit of a lost client ends after requestLimit
		found, err := u.findRun(c)
		if err != nil {
			return Outcome{}, err
		}
		if found != nil {
			return u.attachRun(found, false)
		}
		conn, err := u.start(ctx, c)
		if err == nil {
			return u.beginRun(ctx, conn, c)
		}
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		if !isTaken(err) || time.Now().After(end) {
			return Outcome{Note: fmt.Sprintf(stays, err)}, nil
		}
		time.Sleep(answerPause)
	}
}

// findRun returns the connection to this run, or to one that replaces it. Before that, it shows and removes the runs that
// earlier clients left. A command at a terminal of this host is an error.
func (u *unattended) findRun(c Command) (*connection, error) {
	sweepSockets(u.machine)
	all := connectAll(u.machine)
	defer func() { closeAll(all) }()
	for i, conn := range all {
		if u.replaces(conn.state, c) {
			all[i] = nil
			return conn, nil
		}
	}
	for i, conn := range all {
		s := conn.state
		switch {
		case len(s.Args) == 0: // another client has just started it
		case s.Ended.IsZero() && s.Run == "":
			return nil, advice.Add(fmt.Errorf("another airgap command is changing this host: %s", s), "%s", s.hint("/"))
		case s.Run == "":
			u.drop(conn)
		default:
			all[i] = nil
			if _, err := u.attachRun(conn, true); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil //nolint:nilnil // no such command runs
}

// replaces reports whether the client takes the result of a run for its own.
func (u *unattended) replaces(s state, c Command) bool {
	if s.Run == "" || s.Name != c.Name || !slices.Equal(s.Args, c.Args) {
		return false
	}
	return s.Run == u.order.Run || s.Ended.IsZero() || s.Code == 0 && time.Since(s.Ended) < recent
}

// beginRun sends the request and shows the command.
func (u *unattended) beginRun(ctx context.Context, conn *connection, c Command) (Outcome, error) {
	input := make([]byte, u.order.Input)
	if n, err := io.ReadFull(u.streams.In, input); err != nil {
		conn.Close()
		return Outcome{}, errors.Join(fmt.Errorf("read standard input: %d of %d bytes: %w", n, len(input), err), stopUnit(context.WithoutCancel(ctx), u.machine, c.Name))
	}
	r := request{Args: c.Args, Dir: "/", Environment: u.environment(), Size: u.streams.size(), Run: u.order.Run, Input: input}
	f, err := encoded(startFrame, r)
	if err == nil {
		err = f.write(conn)
	}
	if err != nil {
		conn.Close()
		return Outcome{}, fmt.Errorf("send the command to unit %s: %w", unitOf(c.Name), err)
	}
	conn.state = state{Name: c.Name, Args: c.Args, Run: u.order.Run}
	return u.watch(conn, false)
}

// environment is for the command in the unit, which runs for the user of this session.
func (u *unattended) environment() []string {
	all := slices.DeleteFunc(os.Environ(), func(one string) bool { return strings.HasPrefix(one, OrderVariable+"=") })
	return append(all, host.OperatorVariable+"="+host.Operator())
}

// attachRun shows a run that an earlier client started. Of another command or an earlier
// result (other), it shows only the messages, and removes it.
func (u *unattended) attachRun(conn *connection, other bool) (Outcome, error) {
	f, err := encoded(attachFrame, u.streams.size())
	if err == nil {
		err = f.write(conn)
	}
	if err != nil {
		conn.Close()
		return Outcome{}, fmt.Errorf("attach to unit %s: %w", unitOf(conn.state.Name), err)
	}
	return u.watch(conn, other)
}

// watch shows a run until its end. SIGINT cancels it, unless it is another command. A lost connection leaves it running:
// SIGPIPE, SIGHUP of sshd, SIGTERM of logind.
func (u *unattended) watch(conn *connection, other bool) (Outcome, error) {
	defer conn.Close()
	shown := make(chan result, 1)
	go func() { shown <- u.showRun(conn, other) }()
	cancelled := false
	for {
		select {
		case end := <-shown:
			return u.over(conn, end, other, cancelled)
		case s := <-u.signals:
			if s != syscall.SIGINT || other {
				return Outcome{}, u.left(conn)
			}
			cancelled = true
			_ = frame{cancelFrame, nil}.write(conn) // else the end of the connection shows
		}
	}
}

// over is the end of a run. Its unit keeps the result until the client has it, unless the client cancelled the command.
func (u *unattended) over(conn *connection, end result, other, cancelled bool) (Outcome, error) {
	switch {
	case end.err != nil && other: // another client has the result
		return Outcome{}, nil
	case end.err != nil:
		u.say("airgap: error: %v", u.lost(conn, end.err))
		return Outcome{Ran: true, Code: killed}, nil //nolint:nilerr // the message has it
	case other:
		u.say("%s ended with exit code %d.", commandLine(conn.state.Args), end.code)
	}
	if other || cancelled {
		_ = frame{seenFrame, nil}.write(conn)
	}
	return Outcome{Ran: true, Code: end.code}, nil
}

// showRun writes the output, and before it a notice for the client.
func (u *unattended) showRun(conn *connection, other bool) result {
	for {
		f, err := readFrame(conn.in)
		if err != nil {
			return result{err: err}
		}
		switch f.kind {
		case placeFrame:
			err = u.announce(conn.state, f, other)
		case stdoutFrame:
			if !other {
				_, err = u.streams.Out.Write(f.data)
			}
		case stderrFrame, ttyFrame:
			_, err = u.streams.Err.Write(f.data)
		case exitFrame:
			code, err := strconv.Atoi(string(f.data))
			return result{code, err}
		}
		if err != nil {
			return result{err: err}
		}
	}
}

func (u *unattended) announce(s state, f frame, other bool) error {
	var p place
	if err := f.decode(&p); err != nil {
		return err
	}
	line, err := json.Marshal(Notice{Event: noticeEvent, For: u.order.Run, Run: s.Run, Name: s.Name, Unit: unitOf(s.Name), Since: p.Since, From: p.Err, Other: other})
	if err != nil {
		return err
	}
	_, err = u.streams.Err.Write(append(line, '\n'))
	return err
}
