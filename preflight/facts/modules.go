package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

// Module is the state of a kernel module.
type Module string

const (
	Loaded   Module = "loaded"
	BuiltIn  Module = "built-in"
	Loadable Module = "loadable"
	Blocked  Module = "blocked" // an install line makes modprobe run /bin/false or /bin/true
	Missing  Module = "missing"
)

// Known reports whether the kernel has the module, in its files or in itself.
func (m Module) Known() bool { return m == Loaded || m == BuiltIn || m == Loadable }

// ModuleOptions has the kernel option of each module that a node may need. Want decides which
// modules it does need.
func ModuleOptions() map[string]string {
	return map[string]string{
		"overlay":       "OVERLAY_FS",
		"br_netfilter":  "BRIDGE_NETFILTER",
		"nf_conntrack":  "NF_CONNTRACK",
		"nf_tables":     "NF_TABLES",
		"nft_compat":    "NFT_COMPAT",
		"nft_chain_nat": "NFT_NAT", // nat chains; the module has no separate option
		"nft_nat":       "NFT_NAT",
		"nft_masq":      "NFT_MASQ",
		"xt_comment":    "NETFILTER_XT_MATCH_COMMENT",
		"xt_MASQUERADE": "NETFILTER_XT_TARGET_MASQUERADE",
		// Before Linux 5.2, and so in Enterprise Linux 8, MASQUERADE is in an IPv4 module.
		"ipt_MASQUERADE": "IP_NF_TARGET_MASQUERADE",
		"vxlan":          "VXLAN",
		"ip_set":         "IP_SET",
		"xt_set":         "NETFILTER_XT_SET",
		"nouveau":        "DRM_NOUVEAU", // must not be loaded on a GPU node
	}
}

// moduleTree has the host's information about its modules.
type moduleTree struct {
	builtin, loadable, loaded, blocked map[string]bool
	config                             map[string]string // OVERLAY_FS: y
	known                              bool              // the running kernel's module tree or its configuration was readable
}

func readModules(_ context.Context, r reader, f *Facts) error {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	tree, err := readModuleTree(r, release)
	if err != nil {
		return err
	}
	f.Modules = map[string]Module{}
	var unknown []string
	for name, option := range ModuleOptions() {
		state := tree.find(r, name, option)
		if state == Missing && !tree.known {
			unknown = append(unknown, name)
			continue
		}
		f.Modules[name] = state
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("read /lib/modules/%s and the kernel configuration: both are unreadable; the state of these modules is unknown: %s", release, strings.Join(unknown, ", "))
	}
	return nil
}

// find first checks whether the module is built in or loaded: then it needs no file, and an
// install line does not block it.
func (t moduleTree) find(r reader, name, option string) Module {
	switch {
	case t.builtin[name] || t.config[option] == "y":
		return BuiltIn
	case t.loaded[name] || r.exists("sys/module/"+name):
		return Loaded
	case t.blocked[name]:
		return Blocked
	case t.loadable[name]:
		return Loadable
	default:
		return Missing
	}
}

func readModuleTree(r reader, release string) (moduleTree, error) {
	var t moduleTree
	var unread error
	t.builtin, t.loadable, unread = nextboot.ReadModuleLists(r.fs, release)
	loaded, err := r.lines("proc/modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without modules has no such file
		return t, err
	}
	t.loaded = nextboot.ModuleNames(loaded)
	blocks, err := nextboot.ReadBlocks(r.fs, surveyedModules())
	if err != nil {
		return t, err
	}
	t.blocked = map[string]bool{}
	for _, b := range blocks {
		t.blocked[b.Module] = t.blocked[b.Module] || b.By != nextboot.ByBlacklist
	}
	t.config, err = nextboot.ReadKernelConfig(r.fs, release)
	t.known = unread == nil || len(t.config) > 0
	return t, err
}
