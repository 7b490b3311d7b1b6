package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Balance runs a load balancer as banks have them, a haproxy that carries TCP
// and looks no further, outside of every server: it takes vip for its own and
// spreads its connections to port over the servers that accept any. It ends
// with stop, or with this process.
func (l *Lab) Balance(ctx context.Context, vip netip.Addr, port int, servers ...Machine) (stop func() error, err error) {
	if err := batch(ctx, l.Network.name(), fmt.Sprintf("addr add %s/%d dev %s", vip, subnet.Bits(), bridge)); err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	config := filepath.Join(runDir(l.cache, l.run), "haproxy.cfg")
	if err := os.WriteFile(config, balancerConfig(vip, port, servers), 0o644); err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	var said bytes.Buffer
	// It ends when the pipe does, and that goes with this process.
	const untilThePipeEnds = `haproxy -db -f "$0" & read -r _; kill $!; wait`
	cmd := exec.Command("nsenter", "--net="+l.Network.Path(), "sh", "-c", untilThePipeEnds, config)
	cmd.Stdout, cmd.Stderr = &said, &said
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	stop = func() error { return errors.Join(pipe.Close(), cmd.Wait()) }
	waiting, cancel := context.WithTimeout(ctx, balancerTimeout)
	defer cancel()
	_, err = poll(waiting, "the load balancer to listen", func() (bool, error) {
		conn, err := l.Network.dial(waiting, "tcp", netip.AddrPortFrom(vip, uint16(port)).String())
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

// balancerConfig leaves connections alone that a server has lost, as a bank's
// balancer may: clients have to notice themselves.
func balancerConfig(vip netip.Addr, port int, servers []Machine) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `global
  maxconn 4096
defaults
  mode tcp
  timeout connect 2s
  timeout client %[1]s
  timeout server %[1]s
frontend api
  bind %[2]s:%[3]d
  default_backend api
backend api
  balance roundrobin
  default-server check inter 1s fall 2 rise 2
`, "15m", vip, port)
	for _, m := range servers {
		fmt.Fprintf(&b, "  server %s %s:%d\n", m.Name(), m.Addr(), port)
	}
	return b.Bytes()
}

// balancerTimeout is how long a balancer may take to listen.
const balancerTimeout = 10 * time.Second
