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

// listenTimeout limits the time until a program next to the servers listens.
const listenTimeout = 10 * time.Second

// untilThePipeEnds is a shell script that runs a program. The program ends with the pipe, and the
// kernel closes the pipe when this process ends.
const untilThePipeEnds = `"$@" & read -r _; kill $!; wait`

// Beside runs a program in the servers' network, but on none of the servers. It has
// the separate address at, on which it must listen. It ends with stop, or with this process.
func (l *Lab) Beside(ctx context.Context, what string, at netip.AddrPort, argv ...string) (stop func() error, err error) {
	if err := batch(ctx, l.Network.name(), fmt.Sprintf("addr replace %s/%d dev %s", at.Addr(), subnet.Bits(), bridge)); err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	var output bytes.Buffer
	cmd := exec.Command("nsenter", append([]string{"--net=" + l.Network.Path(), "sh", "-c", untilThePipeEnds, "sh"}, argv...)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	stop = func() error { return errors.Join(pipe.Close(), cmd.Wait()) }
	waiting, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	_, err = poll(waiting, what+" to listen", func() (bool, error) {
		conn, err := l.Network.dial(waiting, "tcp", at.String())
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
	if err != nil {
		return nil, errors.Join(err, stop(), errors.New(output.String()))
	}
	return stop, nil
}
