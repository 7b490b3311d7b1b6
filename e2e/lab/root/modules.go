package root

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// moduleOf says which module of an EL kernel a configuration symbol makes.
// Only what Kubernetes, a runtime or a network plugin asks for is listed.
var moduleOf = map[string]string{
	"BRIDGE":                         "kernel/net/bridge/bridge.ko",
	"BRIDGE_NETFILTER":               "kernel/net/bridge/br_netfilter.ko",
	"IP_SET":                         "kernel/net/netfilter/ipset/ip_set.ko",
	"IP_VS":                          "kernel/net/netfilter/ipvs/ip_vs.ko",
	"NETFILTER_XT_MATCH_COMMENT":     "kernel/net/netfilter/xt_comment.ko",
	"NETFILTER_XT_MATCH_CONNTRACK":   "kernel/net/netfilter/xt_conntrack.ko",
	"NETFILTER_XT_TARGET_MASQUERADE": "kernel/net/netfilter/xt_MASQUERADE.ko",
	"NETFILTER_XT_TARGET_REDIRECT":   "kernel/net/netfilter/xt_REDIRECT.ko",
	"NET_IPIP":                       "kernel/net/ipv4/ipip.ko",
	"NFT_COMPAT":                     "kernel/net/netfilter/nft_compat.ko",
	"NF_CONNTRACK":                   "kernel/net/netfilter/nf_conntrack.ko",
	"NF_NAT":                         "kernel/net/netfilter/nf_nat.ko",
	"NF_TABLES":                      "kernel/net/netfilter/nf_tables.ko",
	"OVERLAY_FS":                     "kernel/fs/overlayfs/overlay.ko",
	"VETH":                           "kernel/drivers/net/veth.ko",
	"VXLAN":                          "kernel/drivers/net/vxlan/vxlan.ko",
	"WIREGUARD":                      "kernel/drivers/net/wireguard/wireguard.ko",
}

// builtinModules gives the running kernel's release and its modules.builtin,
// made from its configuration: the outer machine may have no /lib/modules at
// all, and on an EL server modprobe succeeds for what is built in.
func builtinModules() (release string, list []byte, err error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", nil, fmt.Errorf("uname: %w", err)
	}
	f, err := os.Open("/proc/config.gz")
	if err != nil {
		return "", nil, fmt.Errorf("read the kernel's configuration: %w", err)
	}
	defer f.Close()
	config, err := gzip.NewReader(f)
	if err != nil {
		return "", nil, fmt.Errorf("read the kernel's configuration: %w", err)
	}
	list, err = builtin(config)
	return unix.ByteSliceToString(name.Release[:]), list, err
}

// builtin lists the modules that config says are in the kernel, in the order
// of the configuration.
func builtin(config io.Reader) ([]byte, error) {
	var list bytes.Buffer
	s := bufio.NewScanner(config)
	for s.Scan() {
		symbol, ok := strings.CutSuffix(strings.TrimPrefix(s.Text(), "CONFIG_"), "=y")
		if ko := moduleOf[symbol]; ok && ko != "" {
			fmt.Fprintln(&list, ko)
		}
	}
	return list.Bytes(), s.Err()
}
