package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"time"
)

// besideTimeout is how long a program beside the servers may take to listen.
const besideTimeout = 10 * time.Second

// Beside runs a program of the bank's that is on none of the servers, in their
// network, with an address of its own: it has to listen at that. It ends with stop,
// or with this process.
func (l *Lab) Beside(ctx context.Context, what string, at netip.AddrPort, argv ...string) (stop func() error, err error) {
	if err := batch(ctx, l.Network.name(), fmt.Sprintf("addr replace %s/%d dev %s", at.Addr(), subnet.Bits(), bridge)); err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	var said bytes.Buffer
	// It ends when the pipe does, and that goes with this process.
	const untilThePipeEnds = `"$@" & read -r _; kill $!; wait`
	cmd := exec.Command("nsenter", append([]string{"--net=" + l.Network.Path(), "sh", "-c", untilThePipeEnds, "sh"}, argv...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	stop = func() error { return errors.Join(pipe.Close(), cmd.Wait()) }
	waiting, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	_, err = poll(waiting, what+" to listen", func() (bool, error) {
		conn, err := l.Network.dial(waiting, "tcp", at.String())
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
	if err != nil {
		return nil, errors.Join(err, stop(), errors.New(said.String()))
	}
	return stop, nil
}
