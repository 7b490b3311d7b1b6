package netfaults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// change changes a network before the measurement.
type change func(context.Context, *lab.Racks) error

// forward adds rules for the packets between hosts.
func forward(rules ...string) change { return forwardAt(lab.RouterSpace, rules...) }

// forwardAt adds rules to a router. The connections that control the measurement always pass.
func forwardAt(router string, rules ...string) change {
	return func(ctx context.Context, r *lab.Racks) error {
		family := "inet"
		if r.Shape == lab.Switched {
			family = "bridge"
		}
		return r.NFT(ctx, router, fmt.Sprintf(`table %s fault {
	chain forward {
		type filter hook forward priority 0;
		tcp dport $meeting accept
		tcp sport $meeting accept
		%s
	}
}
`, family, strings.Join(rules, "\n\t\t")))
	}
}

// translate adds rules for addresses to the router, in a hook: "prerouting" or "postrouting".
func translate(hook string, rules ...string) change {
	return func(ctx context.Context, r *lab.Racks) error {
		priority := map[string]int{"prerouting": -100, "postrouting": 100}[hook]
		return r.NFT(ctx, lab.RouterSpace, fmt.Sprintf("table ip %[1]s {\n\tchain c {\n\t\ttype nat hook %[1]s priority %[2]d;\n\t\ttcp dport $meeting accept\n\t\t%[3]s\n\t}\n}\n", hook, priority, strings.Join(rules, "\n\t\t")))
	}
}

// firewall gives a host packet filters, as text of nft.
func firewall(node int, rules string) change {
	return func(ctx context.Context, r *lab.Racks) error { return r.NFT(ctx, lab.Node(node), rules) }
}

// ip runs lines of `ip -batch` in a namespace.
func ip(space string, lines ...string) change {
	return func(ctx context.Context, r *lab.Racks) error { return r.IP(ctx, space, lines...) }
}

func sysctl(space string, settings ...string) change {
	return func(ctx context.Context, r *lab.Racks) error { return r.Sysctl(ctx, space, settings...) }
}

// run runs a program with an input in a namespace.
func run(space, stdin string, args ...string) change {
	return func(ctx context.Context, r *lab.Racks) error { return r.Run(ctx, space, stdin, args...) }
}

// write replaces a file of a host.
func write(node int, file, text string) change {
	return func(_ context.Context, r *lab.Racks) error { return r.Write(lab.Node(node), file, text) }
}

// onHosts makes the same change on the first three hosts.
func onHosts(do func(node int) change) change {
	return func(ctx context.Context, r *lab.Racks) error {
		for i := 1; i <= 3; i++ {
			if err := do(i)(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// answer makes the router answer at a port: it reads once, sends text, and keeps the connection
// open or closes it. Without a text it never answers.
func answer(port uint16, text string, closes bool) change {
	return func(ctx context.Context, r *lab.Racks) error {
		return r.Accept(ctx, lab.RouterSpace, netip.AddrPortFrom(netip.IPv4Unspecified(), port), func(conn net.Conn) {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				_, _ = io.WriteString(conn, text)
			}
			if closes {
				conn.Close()
				return
			}
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}

// names makes a name server at 10.90.53.N.
func names(n byte, wildcard string, overTCP bool) change {
	return func(ctx context.Context, r *lab.Racks) error {
		at := netip.AddrFrom4([4]byte{10, 90, 53, n})
		if err := r.IP(ctx, lab.RouterSpace, fmt.Sprintf("addr add %s/32 dev lo", at)); err != nil {
			return err
		}
		return r.Names(ctx, at, wildcard, overTCP)
	}
}

// proxy is a TCP load balancer (haproxy) with its options. The zero value of a field is the one
// of a correct load balancer.
type proxy struct {
	members        []int  // default: all control-plane hosts
	by             string // default: roundrobin
	client, server string // limits of idle connections; default: 15m
	bind, to       string // options of the two sides: "ssl", "send-proxy"
	port           int    // of the members; default: 6443
	checks         string // default: check inter 1s fall 2 rise 1
	space          string // default: the balancer's namespace, at the address of the control plane
	listen         string // default: that address
}

// balance runs a load balancer.
func balance(p proxy) change {
	return func(ctx context.Context, r *lab.Racks) error {
		if p.space == "" {
			p.space = lab.BalancerSpace
			if err := r.IP(ctx, p.space, "addr add $vip/24 dev eth0"); err != nil {
				return err
			}
		}
		p.defaults(r)
		file := filepath.Join(r.Dir(), "haproxy.cfg")
		if strings.Contains(p.bind, "ssl") {
			certificate := filepath.Join(r.Dir(), "haproxy.pem")
			if err := lab.WriteCertificate(certificate, "proxy.bank.example"); err != nil {
				return err
			}
			p.bind += " crt " + certificate
		}
		if err := os.WriteFile(file, []byte(p.config(r)), 0o644); err != nil {
			return err
		}
		return r.Beside(p.space, "haproxy", "-db", "-f", file)
	}
}

func (p *proxy) defaults(r *lab.Racks) {
	set := func(field *string, text string) {
		if *field == "" {
			*field = text
		}
	}
	set(&p.by, "roundrobin")
	set(&p.client, "15m")
	set(&p.server, "15m")
	set(&p.checks, "check inter 1s fall 2 rise 1")
	set(&p.listen, r.VIP().String()+":6443")
	if p.port == 0 {
		p.port = 6443
	}
	if p.members == nil {
		for i := range r.ControlPlanes {
			p.members = append(p.members, i+1)
		}
	}
}

func (p *proxy) config(r *lab.Racks) string {
	var text strings.Builder
	fmt.Fprintf(&text, `defaults
  mode tcp
  timeout connect 2s
  timeout client %s
  timeout server %s
frontend api
  bind %s %s
  default_backend api
backend api
  balance %s
`, p.client, p.server, p.listen, p.bind, p.by)
	for _, i := range p.members {
		fmt.Fprintf(&text, "  server %s %s:%d %s %s\n", lab.Node(i), r.Addr(i), p.port, p.checks, p.to)
	}
	return text.String()
}
