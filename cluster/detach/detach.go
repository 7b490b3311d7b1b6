// Package detach runs long commands of airgap in a transient unit of systemd, so that they go on when the login
// session ends: logind stops quiet sessions (StopIdleSessionSec), and a connection can be lost.
//
// Run is the side of the session: it starts the unit, or finds it, and shows the command there. Serve is the main
// process of the unit: it gives the command a pseudo-terminal, and keeps its output for the next client.
//
// airgap on another host orders such a run through SSH (Order). Then there is no terminal: the output is that of the
// command, with a Notice before it, and the unit keeps the result until that airgap calls Seen.
package detach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// Command is a command of airgap that can be long.
type Command struct {
	Name string   // "upgrade node"
	Args []string // the whole command line, without the program
}

// Outcome says whether the command has run.
type Outcome struct {
	Ran  bool // false: run it here
	Code int  // exit code
	Note string
}

// Run runs the command in its unit and shows it, or shows the same command that runs already. Where no login
// session can end the command, or no user sees it, it does nothing, unless airgap on another host has ordered it. say
// shows a message about the unit.
func Run(ctx context.Context, c Command, s Streams, say func(format string, args ...any)) (Outcome, error) {
	program, err := os.Executable()
	value, ordered := os.LookupEnv(OrderVariable)
	if err != nil || os.Geteuid() != 0 || !ordered && !s.attended() {
		return Outcome{}, nil //nolint:nilerr // the command runs without it
	}
	if ordered {
		order, err := parseOrder(value)
		if err != nil {
			return Outcome{}, err
		}
		return (&unattended{runner: &runner{host.Machine{Host: host.Local{}}, program, "/", s, say}, order: order}).runOrder(ctx, c)
	}
	dir, err := os.Getwd()
	if err != nil {
		return Outcome{}, nil //nolint:nilerr // a removed directory: the command reports it
	}
	r := &runner{host.Machine{Host: host.Local{}}, program, dir, s, say}
	return r.run(ctx, c)
}

type runner struct {
	machine host.Machine
	program string
	dir     string
	streams Streams
	say     func(format string, args ...any)
}

func (r *runner) run(ctx context.Context, c Command) (Outcome, error) {
	if !inSession(r.machine) {
		return Outcome{}, nil
	}
	for end := time.Now().Add(answerLimit); ; {
		found, err := r.find(c)
		if err != nil {
			return Outcome{}, err
		}
		if found != nil {
			return r.attach(found)
		}
		conn, err := r.start(ctx, c)
		if err == nil {
			return r.begin(conn, c)
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

// stays is the note about a command that runs in the session.
const stays = "the command ends with this login session: %v"

// find returns the connection to the same command. Other commands that have ended are removed. One that runs is an
// error: it has the lock of this host, or is about to take it.
func (r *runner) find(c Command) (*connection, error) {
	for _, conn := range connectAll(r.machine) {
		same := slices.Equal(conn.state.Args, c.Args) && conn.state.Dir == r.dir
		switch {
		case same:
			return conn, nil
		case !conn.state.Ended.IsZero():
			r.drop(conn)
		case len(conn.state.Args) > 0:
			conn.Close()
			return nil, advice.Add(fmt.Errorf("another airgap command is changing this host: %s", conn.state), "%s", conn.state.hint(r.dir))
		default:
			conn.Close() // another client has just started it
		}
	}
	return nil, nil //nolint:nilnil // no such command runs
}

// drop ends the unit of a command that has ended.
func (r *runner) drop(conn *connection) {
	r.say("%s ended at %s with exit code %d.", commandLine(conn.state.Args), at(conn.state.Ended), conn.state.Code)
	_ = frame{dropFrame, nil}.write(conn)
	conn.Close()
}

const (
	answerLimit = 10 * time.Second
	answerPause = 50 * time.Millisecond
)

// start starts the unit and returns the connection to it.
func (r *runner) start(ctx context.Context, c Command) (*connection, error) {
	if err := startUnit(ctx, r.machine, r.program, c.Name); err != nil {
		return nil, err
	}
	for end := time.Now().Add(answerLimit); ; {
		conn, err := connect(socketOf(r.machine, c.Name))
		if err == nil {
			return conn, nil
		}
		if ctx.Err() == nil && time.Now().Before(end) {
			time.Sleep(answerPause)
			continue
		}
		err = fmt.Errorf("connect to unit %s: %w", unitOf(c.Name), err)
		return nil, errors.Join(err, stopUnit(context.WithoutCancel(ctx), r.machine, c.Name))
	}
}

// begin sends the request and follows the command.
func (r *runner) begin(conn *connection, c Command) (Outcome, error) {
	f, err := encoded(startFrame, request{Args: c.Args, Dir: r.dir, Environment: append(os.Environ(), host.OperatorVariable+"="+host.Operator()),
		Terminal: [3]bool{terminal(r.streams.In) != nil, terminal(r.streams.Out) != nil, terminal(r.streams.Err) != nil}, Size: r.streams.size()})
	if err == nil {
		err = f.write(conn)
	}
	if err != nil {
		conn.Close()
		return Outcome{Note: fmt.Sprintf(stays, fmt.Errorf("send it to unit %s: %w", unitOf(c.Name), err))}, nil
	}
	r.say("airgap %s runs in the unit %s. If this session ends, run the same command again to follow it.", c.Name, unitOf(c.Name))
	conn.state.Name = c.Name
	return r.follow(conn)
}

// attach follows a command that an earlier client has started.
func (r *runner) attach(conn *connection) (Outcome, error) {
	f, err := encoded(attachFrame, r.streams.size())
	if err == nil {
		err = f.write(conn)
	}
	if err != nil {
		conn.Close()
		return Outcome{}, fmt.Errorf("attach to unit %s: %w", unitOf(conn.state.Name), err)
	}
	ended := conn.state.Ended
	if ended.IsZero() {
		r.say("airgap %s has run in the unit %s since %s. Its output:", conn.state.Name, unitOf(conn.state.Name), at(conn.state.Since))
		return r.follow(conn)
	}
	r.say("airgap %s, started at %s, ended at %s. Its output:", conn.state.Name, at(conn.state.Since), at(ended))
	done, err := r.follow(conn)
	if err == nil {
		r.say("This was the earlier run. Run the same command again for a new run.")
	}
	return done, err
}

func at(t time.Time) string { return t.Local().Format(time.DateTime) }

// Running describes the long command that runs on this host in another unit, for an error about the host's lock.
func Running(m host.Machine) (about string, next string) {
	own, _ := fs.ReadFile(m.Host.FS(), "proc/self/cgroup") // "": in no unit
	for _, conn := range connectAll(m) {
		conn.Close()
		mine := strings.Contains(string(own), "/"+unitOf(conn.state.Name)+".service")
		if len(conn.state.Args) > 0 && conn.state.Ended.IsZero() && !mine && about == "" {
			about, next = conn.state.String(), conn.state.hint("")
		}
	}
	return about, next
}
