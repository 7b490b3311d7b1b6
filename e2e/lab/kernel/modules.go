package kernel

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// An option of the configuration, and the modules of an EL kernel that it builds.
type option struct {
	symbol string
	files  []string // below /lib/modules/RELEASE
	needed bool     // by the lab's clusters; other options are for network plugins of a site
}

// options returns the options with the modules that Kubernetes, a runtime or a network
// plugin uses.
func options() []option {
	const bridge, netfilter = "kernel/net/bridge/", "kernel/net/netfilter/"
	return []option{
		{"BRIDGE", []string{bridge + "bridge.ko"}, true},
		{"BRIDGE_NETFILTER", []string{bridge + "br_netfilter.ko"}, true},
		{"IP_SET", []string{netfilter + "ipset/ip_set.ko"}, false},
		{"IP_VS", []string{netfilter + "ipvs/ip_vs.ko"}, false},
		{"NETFILTER_XT_MATCH_COMMENT", []string{netfilter + "xt_comment.ko"}, true},
		{"NETFILTER_XT_MATCH_CONNTRACK", []string{netfilter + "xt_conntrack.ko"}, true},
		{"NETFILTER_XT_TARGET_MASQUERADE", []string{netfilter + "xt_MASQUERADE.ko"}, true},
		{"NETFILTER_XT_TARGET_REDIRECT", []string{netfilter + "xt_REDIRECT.ko"}, true},
		{"NET_IPIP", []string{"kernel/net/ipv4/ipip.ko"}, false},
		{"NFT_COMPAT", []string{netfilter + "nft_compat.ko"}, true},
		{"NFT_MASQ", []string{netfilter + "nft_masq.ko"}, true},
		{"NFT_NAT", []string{netfilter + "nft_chain_nat.ko", netfilter + "nft_nat.ko"}, true},
		{"NF_CONNTRACK", []string{netfilter + "nf_conntrack.ko"}, true},
		{"NF_NAT", []string{netfilter + "nf_nat.ko"}, true},
		{"NF_TABLES", []string{netfilter + "nf_tables.ko"}, true},
		{"OVERLAY_FS", []string{"kernel/fs/overlayfs/overlay.ko"}, true},
		{"VETH", []string{"kernel/drivers/net/veth.ko"}, true},
		{"VXLAN", []string{"kernel/drivers/net/vxlan/vxlan.ko"}, true},
		{"WIREGUARD", []string{"kernel/drivers/net/wireguard/wireguard.ko"}, false},
	}
}

// parts returns the required options without a separate module: rules for the lab's bridge,
// and BPF for Lab.Watch.
func parts() []string { return []string{"NF_TABLES_BRIDGE", "BPF_SYSCALL", "DEBUG_INFO_BTF"} }

// Builtin returns the modules.builtin of the servers, because the outer machine may have no
// /lib/modules. With it, modprobe succeeds for built-in modules, as on an EL server. The
// list contains loaded modules, too, because a server cannot load modules. Builtin first
// loads the required modules.
func (m Machine) Builtin(ctx context.Context, config Config) ([]byte, error) {
	if err := m.loadNeeded(ctx, config); err != nil {
		return nil, err
	}
	var list bytes.Buffer
	values := config.values()
	for _, o := range options() {
		for _, file := range o.files {
			if values[o.symbol] == "y" || values[o.symbol] == "m" && m.loaded(moduleName(file)) {
				fmt.Fprintln(&list, file)
			}
		}
	}
	return list.Bytes(), nil
}

func (m Machine) loadNeeded(ctx context.Context, config Config) error {
	var modules []string
	values := config.values()
	for _, o := range options() {
		for _, file := range o.files {
			if name := moduleName(file); o.needed && values[o.symbol] == "m" && !m.loaded(name) {
				modules = append(modules, name)
			}
		}
	}
	if len(modules) == 0 {
		return nil
	}
	if err := m.Load(ctx, modules...); err != nil {
		return fmt.Errorf("load the kernel modules that the lab needs: %w", err)
	}
	return nil
}

func (m Machine) loaded(module string) bool {
	_, err := fs.Stat(m.Files, "sys/module/"+module)
	return err == nil
}

// moduleName returns the name of the module for a path of modules.builtin or modules.dep.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// loadable returns the modules on the outer machine for the running kernel.
func (m Machine) loadable() map[string]bool {
	dep, _ := fs.ReadFile(m.Files, "lib/modules/"+m.Release+"/modules.dep") // a kernel without modules has none
	modules := map[string]bool{}
	for line := range strings.Lines(string(dep)) {
		file, _, _ := strings.Cut(line, ":")
		modules[moduleName(file)] = true
	}
	return modules
}
