package join

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// way is a connection that this host needs as a node, to a program that runs in the cluster.
type way struct {
	program  string
	host     string // name of the node; "" for the load balancer
	address  string // HOST:PORT
	protocol string // "tcp" or "udp"
	tls      bool
	roots    *x509.CertPool // CA of the server's certificate; nil if this host does not have it yet
	path     string         // of a request over TLS; "" for the handshake alone
	kubelet  bool           // without a certificate from the cluster yet, it answers with a TLS alert
	anyName  bool           // the site chooses the names in the certificate
	optional bool           // the program does not run on each node: a refused connection has reached the node
}

func (w way) String() string {
	host, port, _ := net.SplitHostPort(w.address)
	if w.host == "" {
		return fmt.Sprintf("%s at %s, %s %s", w.program, host, strings.ToUpper(w.protocol), port)
	}
	return fmt.Sprintf("%s on %s (%s), %s %s", w.program, w.host, host, strings.ToUpper(w.protocol), port)
}

// maxWorkers is the number of worker nodes that are tried: the nodes of a large cluster are alike.
const maxWorkers = 8

// atOnce is the number of connections at a time: all, except in clusters with many control-plane nodes. A closed
// port must not delay the others.
const atOnce = 64

// proveWays tries the connections that this host needs as a node, before the join changes anything on
// it. The real programs of the cluster answer. client has the rights of the join token.
func (c *Candidate) proveWays(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := c.running(ctx, client)
	if err != nil {
		return err
	}
	ways, err := c.ways(nodes)
	if err != nil {
		return err
	}
	failed, err := c.failed(ctx, ways)
	if err != nil {
		return err
	}
	lost, err := withoutDown(ctx, client, slices.Clone(failed))
	if err != nil {
		return err
	}
	found := preflight.Result{Status: preflight.Pass, Found: proof(ways, failed)}
	if len(lost) > 0 {
		texts := make([]string, len(lost))
		for i, l := range lost {
			texts[i] = l.String()
		}
		found = preflight.Result{
			Status: preflight.Fail, Found: "this host cannot reach services that a node needs:\n  " + strings.Join(texts, "\n  "),
			Fix: "nothing was changed on this host; fix the connections, then run the same command again. If a node joined before this host was in airgap.yaml, run airgap join there again, so that its firewall accepts this host",
		}
	}
	return c.checked(preflight.PortsReach, found)
}

// checked returns the failure of a check, with the site's settings and options for it.
func (c *Candidate) checked(id string, found preflight.Result) error {
	want := preflight.Want{CrossHost: preflight.CrossHost{id: found}, Site: c.Site.Config.Preflight}
	result, err := preflight.RunOne(id, &facts.Facts{}, want, c.options.Skip)
	if err != nil {
		return err
	}
	switch result.Status {
	case preflight.Fail:
		return advice.Add(&preflight.FailedError{Err: fmt.Errorf("check %s: %s", id, result.Found)}, "%s", result.Fix)
	case preflight.Warn, preflight.Pass:
		c.options.Console.Progress().Say("check %s: %s", id, result.Found)
		c.options.Console.EndProgress()
	}
	return nil
}

// proof says what the connections show. A tunnel answers nothing by UDP, so only a message of ICMP shows a failure there,
// and a device that drops the packets silently shows none.
func proof(ways []way, failed []lostWay) string {
	answers := 0
	unproven := map[string]int{} // number of nodes, by port
	for _, w := range ways {
		switch _, port, _ := net.SplitHostPort(w.address); {
		case slices.ContainsFunc(failed, func(l lostWay) bool { return l.way == w }):
		case w.protocol == "udp":
			unproven[port]++
		default:
			answers++
		}
	}
	text := []string{fmt.Sprintf("%d programs of the cluster answer", answers)}
	for _, port := range slices.Sorted(maps.Keys(unproven)) {
		text = append(text, fmt.Sprintf("not proven: UDP port %s to %d nodes, because a tunnel does not answer; the data plane of airgap verify proves it after the join", port, unproven[port]))
	}
	return strings.Join(text, "; ")
}

// failed returns the connections that fail.
func (c *Candidate) failed(ctx context.Context, ways []way) ([]lostWay, error) {
	p := c.options.Console.Progress()
	defer c.options.Console.EndProgress()
	p.Now("Connect to the services of the cluster")
	r := cmp.Or(c.retry, usualRetry())
	lost := r.tryAll(ctx, ways, func(l lostWay) {
		p.Say("%s: %v; airgap tries again, for up to %s", l.way, l.err, r.total)
	})
	return lost, ctx.Err()
}

// withoutDown removes the connections to nodes that are no longer Ready: the API server takes most of a minute to
// notice that a node is down.
func withoutDown(ctx context.Context, client kubernetes.Interface, lost []lostWay) ([]lostWay, error) {
	down := map[string]bool{"": false} // the load balancer
	return slices.DeleteFunc(lost, func(l lostWay) bool {
		if _, known := down[l.way.host]; !known {
			is, err := ready(ctx, client, l.way.host)
			down[l.way.host] = err == nil && !is
		}
		return down[l.way.host]
	}), ctx.Err()
}

// ready reports whether a node has joined and is Ready. airgap verify reports one that is not.
func ready(ctx context.Context, client kubernetes.Interface, name string) (bool, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read node %s: %w", name, err)
	}
	return kube.NodeReady(node), nil
}

// running returns the nodes that are Ready: control-plane nodes, and some workers. The rights of the token do not
// allow a list of the nodes, so it reads one Node at a time and stops when it has enough.
func (c *Candidate) running(ctx context.Context, client kubernetes.Interface) ([]config.Node, error) {
	var masters, workers, found []config.Node
	for _, n := range c.Site.Config.Nodes {
		switch {
		case n.Name == c.Site.Node.Name:
		case n.Has(config.ControlPlane):
			masters = append(masters, n)
		default:
			workers = append(workers, n)
		}
	}
	tried := 0 // workers
	for i, n := range append(masters, spread(workers)...) {
		if tried == maxWorkers {
			break
		}
		is, err := ready(ctx, client, n.Name)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		found = append(found, n)
		if i >= len(masters) {
			tried++
		}
	}
	return found, nil
}

// spread orders nodes so that each rack comes once before one comes again. Without a rack, the subnet counts.
func spread(nodes []config.Node) []config.Node {
	seen := map[string]int{}
	round := map[string]int{} // by the name of the node
	for _, n := range nodes {
		rack := n.Rack
		if rack == "" {
			rack = n.Address[:strings.LastIndex(n.Address, ".")+1]
		}
		round[n.Name] = seen[rack]
		seen[rack]++
	}
	return slices.SortedStableFunc(slices.Values(nodes), func(a, b config.Node) int { return round[a.Name] - round[b.Name] })
}

// ways returns the connections to the endpoint of the control plane and to the nodes.
func (c *Candidate) ways(nodes []config.Node) ([]way, error) {
	cluster, registry := x509.NewCertPool(), x509.NewCertPool()
	if !cluster.AppendCertsFromPEM([]byte(c.Hub.Material.CA)) || !registry.AppendCertsFromPEM(c.Hub.CA) {
		return nil, errors.New("read the CAs of the cluster: no certificate found")
	}
	own := c.Site.Config
	all := []way{{program: apiServer, address: c.Hub.Material.APIServer, protocol: "tcp", tls: true, roots: cluster, path: "/livez"}}
	if hostcheck.Balancer(own) == "" { // the endpoint is the address of a node
		all = nil
	}
	for _, n := range nodes {
		listens := settings.Listens{ControlPlane: n.Has(config.ControlPlane), Network: own.NetworkPorts()}
		if listens.ControlPlane {
			listens.Registry = own.Registry.Port
		}
		for _, p := range listens.Ports() {
			if p.First != p.Last || p.From == settings.OnlySelf || p.Program == proxyHealth || p.From == settings.OnlyMasters && !c.Site.Node.Has(config.ControlPlane) {
				continue
			}
			w := way{program: p.Program, host: n.Name, address: net.JoinHostPort(n.Address, strconv.Itoa(p.First)), protocol: p.Protocol}
			switch {
			case slices.Contains(own.NetworkPorts(), p):
				w.optional = true
			case p.Program == apiServer:
				w.tls, w.roots, w.path = true, cluster, "/livez"
			case p.First == own.Registry.Port:
				w.tls, w.roots, w.path = true, registry, "/v2/"
			default:
				w.tls = true // etcd and the kubelet: their CAs come with the join
				w.kubelet = p.Program == kubelet
				w.anyName = w.kubelet && own.Kubernetes.OwnKubeletCertificate()
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// Programs of the table of ports.
const (
	apiServer   = "kube-apiserver"
	kubelet     = "kubelet"
	proxyHealth = "kube-proxy health" // only load balancers connect to it
)
