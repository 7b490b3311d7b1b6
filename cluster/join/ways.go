package join

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// atOnce is the number of connections at a time.
const atOnce = 16

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
	lost := tryAll(ctx, ways)
	if err := ctx.Err(); err != nil {
		return err
	}
	found := preflight.Result{Status: preflight.Pass, Found: fmt.Sprintf("%d programs of the cluster answer", len(ways))}
	if len(lost) > 0 {
		found = preflight.Result{
			Status: preflight.Fail, Found: "this host does not reach programs that it needs as a node:\n  " + strings.Join(lost, "\n  "),
			Fix: "nothing was changed on this host; fix the connections, then run the same command again. If a node joined before this host was in airgap.yaml, run airgap join there again, so that its firewall accepts this host",
		}
	}
	want := preflight.Want{CrossHost: preflight.CrossHost{preflight.PortsReach: found}, Site: c.Site.Config.Preflight}
	result, err := preflight.RunOne(preflight.PortsReach, &facts.Facts{}, want, c.options.Skip)
	if err != nil {
		return err
	}
	switch result.Status {
	case preflight.Fail:
		return advice.Add(&preflight.FailedError{Err: fmt.Errorf("check %s: %s", preflight.PortsReach, result.Found)}, "%s", result.Fix)
	case preflight.Warn:
		c.options.Console.Progress().Say("check %s: %s", preflight.PortsReach, result.Found)
	}
	return nil
}

// running returns the nodes that are Ready: control-plane nodes, and some workers.
func (c *Candidate) running(ctx context.Context, client kubernetes.Interface) ([]config.Node, error) {
	var masters, workers []config.Node
	for _, n := range c.Site.Config.Nodes {
		if n.Name == c.Site.Node.Name {
			continue
		}
		node, err := client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // it has not joined yet
		case err != nil:
			return nil, fmt.Errorf("read node %s: %w", n.Name, err)
		case !kube.NodeReady(node): // airgap verify reports it
		case n.Has(config.ControlPlane):
			masters = append(masters, n)
		default:
			workers = append(workers, n)
		}
	}
	for i := 0; len(workers) > maxWorkers; i = (i + 2) % len(workers) { // spread over the list
		workers = slices.Delete(workers, i%len(workers), i%len(workers)+1)
	}
	return append(masters, workers...), nil
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
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// Programs of the table of ports.
const (
	apiServer   = "kube-apiserver"
	proxyHealth = "kube-proxy health" // only load balancers connect to it
)

// tryAll returns the connections that fail, in their order, with the error and the owner.
func tryAll(ctx context.Context, ways []way) []string {
	results := make([]string, len(ways))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, w := range ways {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if err := w.try(ctx); err != nil {
				results[i] = fmt.Sprintf("%s: %v (owner: %s)", w, err, w.owner(err))
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(results, func(r string) bool { return r == "" })
}
