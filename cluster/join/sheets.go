package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
)

// Sheets has the join command and a new join token for each node that has not joined, one sheet for each rack.
type Sheets struct {
	Cluster string    `json:"cluster"`
	Line    string    `json:"line,omitempty"` // the same on all hosts; it is not secret
	Racks   []Sheet   `json:"racks"`
	Until   time.Time `json:"until,omitzero"` // the first expiry of a token
	// Replaced lists nodes with tokens that were valid before: those no longer work.
	Replaced []string `json:"replaced,omitempty"`
	// Joining lists nodes whose host has used its token. They get no new one, because their join would fail.
	Joining []string `json:"joining,omitempty"`
	Failed  []NoCode `json:"failed,omitempty"`
}

// Sheet is for the person who goes to the hosts of one rack.
type Sheet struct {
	Rack  string      `json:"rack"` // "r12", or the subnet of hosts without a rack
	Hosts []SheetLine `json:"hosts"`
}

// SheetLine is one host of a sheet.
type SheetLine struct {
	Node    string        `json:"node"`
	Address string        `json:"address"`
	Roles   []config.Role `json:"roles"`
	Code    string        `json:"code"`
	Until   time.Time     `json:"until"`
}

// NoCode is a node that has not joined and got no token.
type NoCode struct {
	Node  string `json:"node"`
	Error string `json:"error"`
}

// TokensForMissing creates new join tokens for all nodes that have not joined. Nodes that have joined get none. If some
// nodes cannot get a token, there are sheets for the others and an error.
func TokensForMissing(ctx context.Context, keys []string, console ui.Console) (Sheets, error) {
	if err := site.MustBeInstalled("join --new-token"); err != nil {
		return Sheets{}, err
	}
	s, err := site.Stored(keys, "")
	if err != nil {
		return Sheets{}, err
	}
	if err := pki.RefuseDuringCARotation(s.Machine.Machine, "create join tokens"); err != nil {
		return Sheets{}, err
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return Sheets{}, err
	}
	missing, err := MissingNodes(ctx, s)
	if err != nil {
		return Sheets{}, err
	}
	before, err := jointoken.OutstandingTokens(ctx, client)
	if err != nil {
		return Sheets{}, err
	}
	p := console.Progress()
	made := 0
	all, err := sheetsFor(ctx, s.Config.Name, missing, before, func(ctx context.Context, n config.Node) (Line, error) {
		made++
		p.Now(fmt.Sprintf("Create join tokens: %s (%d of %d)", n.Name, made, len(missing)))
		if err := NotAlive(ctx, s, n); err != nil {
			return Line{}, err
		}
		if before[n.Name].Unused > 0 {
			if err := jointoken.RevokeFor(ctx, client, n.Name); err != nil {
				return Line{}, err
			}
		}
		return LineWithToken(ctx, s, n, p.Say)
	})
	p.Now("")
	return all, err
}

// sheetsFor makes a token for each missing node, except for those that use one now, and sorts them by rack.
func sheetsFor(ctx context.Context, cluster string, missing []config.Node, before map[string]jointoken.Outstanding, token func(context.Context, config.Node) (Line, error)) (Sheets, error) {
	all := Sheets{Cluster: cluster, Racks: []Sheet{}}
	for _, n := range missing {
		if before[n.Name].Used > 0 {
			all.Joining = append(all.Joining, n.Name)
			continue
		}
		line, err := token(ctx, n)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		if err != nil {
			all.Failed = append(all.Failed, NoCode{n.Name, err.Error()})
			continue
		}
		if before[n.Name].Unused > 0 {
			all.Replaced = append(all.Replaced, n.Name)
		}
		all.add(n, line)
	}
	slices.SortStableFunc(all.Racks, func(a, b Sheet) int { return cmp.Compare(a.Rack, b.Rack) })
	if len(all.Failed) == 0 {
		return all, nil
	}
	text := []string{fmt.Sprintf("create join tokens: %d of %s got none", len(all.Failed), ui.Count(len(missing), "node"))}
	for _, f := range all.Failed {
		text = append(text, "  "+f.Node+": "+f.Error)
	}
	return all, advice.Add(errors.New(strings.Join(text, "\n")), "fix the errors; airgap join --new-token --node NAME creates the token of one node")
}

// add adds a host to the sheet of its rack.
func (s *Sheets) add(n config.Node, line Line) {
	s.Line = line.Line
	if s.Until.IsZero() || line.Until.Before(s.Until) {
		s.Until = line.Until
	}
	rack := rackOf(n)
	i := slices.IndexFunc(s.Racks, func(r Sheet) bool { return r.Rack == rack })
	if i < 0 {
		i, s.Racks = len(s.Racks), append(s.Racks, Sheet{Rack: rack})
	}
	s.Racks[i].Hosts = append(s.Racks[i].Hosts, SheetLine{n.Name, n.Address, n.Roles, line.Code, line.Until})
}

// rackOf is the rack of a node. Without one, the subnet counts, as in the measurement between the hosts.
func rackOf(n config.Node) string {
	if n.Rack != "" {
		return n.Rack
	}
	address, err := netip.ParseAddr(n.Address)
	if err != nil {
		return n.Address
	}
	subnet, err := address.Prefix(24)
	if err != nil {
		return n.Address
	}
	return subnet.String()
}

// Write prints one sheet for each rack. Each is complete on its own, because the racks may go to different people.
func (s Sheets) Write(w io.Writer) error {
	if len(s.Racks)+len(s.Joining)+len(s.Failed) == 0 {
		_, err := fmt.Fprintln(w, "all nodes of airgap.yaml have joined: no join token was created")
		return err
	}
	for i, r := range s.Racks {
		if i > 0 {
			fmt.Fprint(w, "\n\n")
		}
		if err := s.writeSheet(w, r); err != nil {
			return err
		}
	}
	if len(s.Replaced) > 0 {
		fmt.Fprintf(w, "\nEarlier join tokens of %s no longer work.\n", hostrange.Join(s.Replaced))
	}
	if len(s.Joining) > 0 {
		fmt.Fprintf(w, "\nNo new token for %s: the host has used its token and is joining. If its join was interrupted, run the same airgap join there again, with the same token.\n", hostrange.Join(s.Joining))
	}
	return nil
}

func (s Sheets) writeSheet(w io.Writer, r Sheet) error {
	fmt.Fprintf(w, "Rack %s: %s of cluster %s to join\n\n", r.Rack, ui.Count(len(r.Hosts), "host"), s.Cluster)
	fmt.Fprintf(w, "On each host, as root, after rpm --import and rpm -i as INSTALL.txt says:\n\n  %s\n\n", s.Line)
	fmt.Fprintf(w, "It asks for the join token of that host. A token is valid once, until %s. It is a secret: destroy this sheet afterwards.\n", s.Until.Local().Format("2006-01-02 15:04 MST"))
	if slices.ContainsFunc(r.Hosts, func(l SheetLine) bool { return slices.Contains(l.Roles, config.ControlPlane) }) {
		fmt.Fprintln(w, "Join control-plane hosts one after the other.")
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  HOST\tADDRESS\tROLES\tJOIN TOKEN")
	for _, l := range r.Hosts {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", l.Node, l.Address, ui.Words(l.Roles), l.Code)
	}
	return t.Flush()
}
