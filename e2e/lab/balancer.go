package lab

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// Balance runs a load balancer as banks have them, a haproxy that carries TCP
// and looks no further, outside of every server: it takes vip for its own and
// spreads its connections to port over the servers that accept any. It ends
// with stop, or with this process.
func (l *Lab) Balance(ctx context.Context, vip netip.Addr, port int, servers ...Machine) (stop func() error, err error) {
	config := filepath.Join(runDir(l.cache, l.run), "haproxy.cfg")
	if err := os.WriteFile(config, balancerConfig(vip, port, servers), 0o644); err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	return l.Beside(ctx, "a load balancer", netip.AddrPortFrom(vip, uint16(port)), "haproxy", "-db", "-f", config)
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
