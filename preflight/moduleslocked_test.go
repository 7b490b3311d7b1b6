package preflight

import (
	"testing"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

// TestModulesLocked: with the lock, a module must be loaded now, and a file must load it at the next boot.
func TestModulesLocked(t *testing.T) {
	locked := func(state facts.Module, listed ...string) *facts.Facts {
		f := &facts.Facts{Modules: all(state, nil), Sysctls: []facts.Sysctl{{Name: facts.LockedParameter, Value: "1"}}}
		for _, name := range listed {
			f.Boot.Loads = append(f.Boot.Loads, nextboot.Load{Module: name})
		}
		return f
	}
	needed := []string{"overlay", "br_netfilter", "nf_conntrack", "nf_tables", "nft_compat", "xt_comment", "ipt_MASQUERADE"}
	masked := locked(facts.Loaded, needed...)
	masked.Units = []facts.Unit{{Name: "systemd-modules-load.service", Enabled: "masked"}}
	cmdline := locked(facts.Loaded, needed[1:]...)
	cmdline.Kernel.Cmdline = "ro modules_load=overlay"
	runChecks(t, []checkTest{
		{"loaded and listed", modulesLocked, locked(facts.Loaded, needed...), Want{}, Pass, "now and at the next boot"},
		{"loaded, and one on the command line", modulesLocked, cmdline, Want{}, Pass, "now and at the next boot"},
		{"built in", modulesLocked, locked(facts.BuiltIn), Want{}, Pass, "now and at the next boot"},
		{"loaded now", modulesLocked, locked(facts.Loaded, "overlay"), Want{}, Fail, "no file loads them at the next boot: br_netfilter, nf_conntrack"},
		{"listed in files that nothing reads", modulesLocked, masked, Want{}, Fail, "no file loads them at the next boot: overlay"},
		{"locked too early", modulesLocked, locked(facts.Loadable, needed...), Want{}, Fail, "not loaded yet: overlay"},
	})
}
