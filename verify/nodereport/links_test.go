package nodereport

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestLinkOf(t *testing.T) {
	const up, running = net.FlagUp, net.FlagRunning
	at := func(name string, mtu int, flags net.Flags) netlink.LinkAttrs {
		return netlink.LinkAttrs{Name: name, MTU: mtu, Flags: flags}
	}
	tests := map[string]struct {
		link netlink.Link
		want Link
	}{
		"card":                 {&netlink.Device{LinkAttrs: at("eth0", 1500, up|running)}, Link{"eth0", "", 1500, true}},
		"card without a cable": {&netlink.Device{LinkAttrs: at("eth0", 1500, up)}, Link{"eth0", "", 1500, false}},
		"tunnel":               {&netlink.Vxlan{LinkAttrs: at("flannel.1", 1450, up|running)}, Link{"flannel.1", "vxlan", 1450, true}},
		"tunnel switched off":  {&netlink.Vxlan{LinkAttrs: at("flannel.1", 1450, 0)}, Link{"flannel.1", "vxlan", 1450, false}},
		"bridge without ports": {&netlink.Bridge{LinkAttrs: at("cni0", 1450, up)}, Link{"cni0", "bridge", 1450, true}},
	}
	for name, test := range tests {
		if got := linkOf(test.link); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestOfPod(t *testing.T) {
	pair, card := &netlink.Veth{}, &netlink.Device{}
	tests := map[string]struct {
		link      netlink.Link
		addresses []string
		want      bool
	}{
		"flannel, in a bridge":      {pair, []string{"fe80::1/64"}, true},
		"Calico, with proxy ARP":    {pair, nil, true},
		"with the pods' gateway":    {pair, []string{"10.244.0.1/32"}, true},
		"of a host in a container":  {pair, []string{"10.88.0.11/24", "fe80::1/64"}, false},
		"a card without an address": {card, nil, false},
	}
	for name, test := range tests {
		var addresses []netlink.Addr
		for _, text := range test.addresses {
			a, err := netlink.ParseAddr(text)
			if err != nil {
				t.Fatal(err)
			}
			addresses = append(addresses, *a)
		}
		if got := ofPod(test.link, addresses); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if _, err := Links(); err != nil {
		t.Errorf("the links of this machine: %v", err)
	}
}
