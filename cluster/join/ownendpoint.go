package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
)

// ownEndpoint returns an error if the endpoint of the control plane is an address of this host and nothing
// listens there. With direct server return, each control-plane host has the load balancer's address: until
// the own API server runs, connections of kubeadm and of the kubelet to the endpoint end on this host. kubeadm
// needs the endpoint before it starts that server, to add the member of etcd, so such a join never ends.
func (c *Candidate) ownEndpoint(ctx context.Context) error {
	host, _, err := net.SplitHostPort(c.Hub.Material.APIServer)
	if err != nil {
		return nil // the token's first request reports it
	}
	ctx, cancel := context.WithTimeout(ctx, wayTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return nil
	}
	for _, address := range all {
		ifi, prefix, err := interfaceOf(address.Unmap())
		if err != nil {
			return err
		}
		if ifi == nil {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", c.Hub.Material.APIServer)
		if err == nil {
			return conn.Close() // a load balancer on this host
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		return c.checked(preflight.LoadBalancer, preflight.Result{
			Status: preflight.Fail, Fix: c.fixEndpoint(ifi, prefix),
			Found: fmt.Sprintf("%s (kubernetes.controlPlaneEndpoint) is an address of this host on %s, where no API server runs yet, so this host does not reach the control plane", c.Hub.Material.APIServer, ifi.Name),
		})
	}
	return nil
}

func (c *Candidate) fixEndpoint(ifi *net.Interface, prefix netip.Prefix) string {
	remove := fmt.Sprintf("ip address del %s dev %s", prefix, ifi.Name)
	switch {
	case !c.Site.Node.Has(config.ControlPlane):
		return "nothing was changed on this host; a worker must not have the address: remove it, also from the files that add it at the next boot: " + remove
	case ifi.Flags&net.FlagLoopback == 0 && ifi.Flags&net.FlagBroadcast != 0:
		return "nothing was changed on this host; let a control-plane node have the address until this host has joined: stop the program here that moves it, for example systemctl stop keepalived; then run the same command again"
	}
	return fmt.Sprintf("nothing was changed on this host; remove the address until this host has joined: %s; then run the same command again, and add the address after it: ip address add %s dev %s", remove, prefix, ifi.Name)
}

// interfaceOf returns the interface of this host with an address; nil if it has none.
func interfaceOf(address netip.Addr) (*net.Interface, netip.Prefix, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("list the interfaces of this host: %w", err)
	}
	for _, ifi := range all {
		addresses, err := ifi.Addrs()
		if err != nil {
			continue // the interface is gone
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && prefix.Addr().Unmap() == address {
				return &ifi, prefix, nil
			}
		}
	}
	return nil, netip.Prefix{}, nil
}
