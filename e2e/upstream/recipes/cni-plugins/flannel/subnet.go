package main

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// subnet has the values that flanneld writes for this node.
type subnet struct {
	network    string // the cluster's pod network, "10.244.0.0/16"
	subnet     string // this node's part of it
	mtu        int
	masquerade bool // flanneld masquerades, so the bridge must not
}

func readSubnet(path string) (subnet, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return subnet{}, fmt.Errorf("read flannel's subnet (is flanneld running?): %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	own, err := netip.ParsePrefix(values["FLANNEL_SUBNET"])
	if err != nil {
		return subnet{}, fmt.Errorf("read %s: FLANNEL_SUBNET: %w", path, err)
	}
	// flanneld writes the address of the gateway; host-local requires that of the network.
	s := subnet{network: values["FLANNEL_NETWORK"], subnet: own.Masked().String(), masquerade: values["FLANNEL_IPMASQ"] == "true"}
	if s.network == "" {
		return subnet{}, fmt.Errorf("read %s: FLANNEL_NETWORK is missing", path)
	}
	if s.mtu, err = strconv.Atoi(values["FLANNEL_MTU"]); err != nil {
		return subnet{}, fmt.Errorf("read %s: FLANNEL_MTU: %w", path, err)
	}
	return s, nil
}
