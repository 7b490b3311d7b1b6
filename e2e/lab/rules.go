package lab

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// A Drop selects packets that the site's network drops silently. A zero field matches all
// packets.
type Drop struct {
	Proto    string // "udp", "tcp", or a number as in /etc/protocols, for example "4"
	Port     uint16 // destination port, with udp and tcp only
	From, To netip.Addr
	Source   netip.Prefix // only packets with a source address in this prefix
	Larger   int          // only packets with more bytes; 0: any size
}

func (d Drop) String() string {
	var parts []string
	if d.From.IsValid() {
		parts = append(parts, "ip saddr "+d.From.String())
	}
	if d.Source.IsValid() {
		parts = append(parts, "ip saddr "+d.Source.String())
	}
	if d.To.IsValid() {
		parts = append(parts, "ip daddr "+d.To.String())
	}
	switch {
	case d.Proto != "" && d.Port != 0:
		parts = append(parts, fmt.Sprintf("%s dport %d", d.Proto, d.Port))
	case d.Proto != "":
		parts = append(parts, "ip protocol "+d.Proto)
	}
	if d.Larger > 0 {
		parts = append(parts, fmt.Sprintf("ip length > %d", d.Larger))
	}
	return strings.Join(parts, " ")
}

// ipInIP: the networks of many sites drop IP-in-IP. Therefore airgap never uses this
// encapsulation.
var ipInIP = Drop{Proto: "4"}

const rulesTable = `table bridge airgap {
	chain forward {
		type filter hook forward priority 0; policy accept;
	}
}
`

func (n Network) createRules(ctx context.Context) error {
	if _, err := n.enter(ctx, rulesTable, "nft", "-f", "-"); err != nil {
		return err
	}
	return n.Drop(ctx, ipInIP)
}

// Drop makes the network drop these packets until Carry.
func (n Network) Drop(ctx context.Context, d Drop) error {
	rule := fmt.Sprintf("add rule bridge airgap forward %s counter drop comment %q\n", d, d)
	_, err := n.enter(ctx, rule, "nft", "-f", "-")
	return err
}

// Carry ends a Drop. It fails if there is no such Drop.
func (n Network) Carry(ctx context.Context, d Drop) error {
	out, err := n.enter(ctx, "", "nft", "-a", "list", "chain", "bridge", "airgap", "forward")
	if err != nil {
		return err
	}
	handle := regexp.MustCompile(fmt.Sprintf(`comment "%s" # handle (\d+)`, regexp.QuoteMeta(d.String()))).FindStringSubmatch(out)
	if handle == nil {
		return fmt.Errorf("carry %s: no such drop", d)
	}
	_, err = n.enter(ctx, "", "nft", "delete", "rule", "bridge", "airgap", "forward", "handle", handle[1])
	return err
}
