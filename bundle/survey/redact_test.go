package survey

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// recorded returns the facts of a recorded host.
func recorded(t *testing.T, name string) *facts.Facts {
	t.Helper()
	text, err := replay.Recording(os.DirFS("../../preflight/testdata/hosts"), name)
	require.NoError(t, err)
	h, err := replay.Host(text)
	require.NoError(t, err)
	f, err := facts.Gather(t.Context(), h)
	require.NoError(t, err)
	return f
}

// withIdentity adds names and addresses to facts. It returns the text that must not leave the
// site.
func withIdentity(f *facts.Facts) (*facts.Facts, []string) {
	f.Host = "ledger17.core.bank.example"
	f.Identity = facts.Identity{MachineID: "0123456789abcdef0123456789abcdef", ProductUUID: "4c4c4544-0044-4810-8031-b4c04f4d3232"}
	f.Kernel.Cmdline = "BOOT_IMAGE=(hd0,gpt2)/vmlinuz root=/dev/mapper/rl_ledger17-root ip=10.44.7.17 fips=1"
	f.Swap = []facts.SwapArea{{Path: "/dev/mapper/rl_ledger17-swap", Size: 1 << 30}}
	f.Hosts = []facts.HostsEntry{{Address: "10.44.7.20", Names: []string{"vault3.core.bank.example"}}}
	f.Resolv = facts.Resolv{Nameservers: []string{"10.44.0.53"}, Search: []string{"core.bank.example"}}
	f.Time.Servers = []string{"ntp1.core.bank.example"}
	f.Accounts = []facts.Account{{Name: "kimjy"}}
	f.Leftovers = []facts.Leftover{{Path: "/home/kimjy/vault3/kubelet"}}
	f.Unknown = append(f.Unknown, facts.Unknown{Fact: "packages", Reason: "rpm on ledger17: 52:54:00:12:34:56 fe80:0:0:0:5054:ff:fe12:3456"})
	f.Filesystems = append(f.Filesystems, facts.Filesystem{Path: "/data", Mount: "/data", Source: "vault3.core.bank.example:/export", Type: "nfs4"})
	return f, []string{"ledger17", "bank.example", "0123456789abcdef", "4c4c4544", "10.44.", "vault3", "kimjy", "rl_", "52:54:00", "fe80", "/dev/mapper"}
}

// TestRedact: the written facts of a server have no identifying text, and the packages,
// kernel and GPUs are the same. The connected host reads them.
func TestRedact(t *testing.T) {
	for _, name := range []string{"rocky9", "rocky9-h100", "rhel9-stig"} {
		f, secrets := withIdentity(recorded(t, name))
		r, err := Redact(f, "w1")
		require.NoError(t, err)
		text := new(bytes.Buffer)
		require.NoError(t, r.Write(text))
		for _, s := range secrets {
			assert.NotContains(t, strings.ToLower(text.String()), s, name)
		}
		for _, l := range f.Links {
			for _, a := range l.Addresses {
				if !a.Addr().IsLoopback() {
					assert.NotContains(t, text.String(), a.Addr().String(), name)
				}
			}
		}
		again, err := facts.ReadFacts(bytes.NewReader(text.Bytes()))
		require.NoError(t, err)
		assert.Equal(t, "w1", again.Host)
		assert.Equal(t, f.Packages, again.Packages)
		assert.Equal(t, []any{f.Kernel.Release, f.OS, f.PCI, f.Memory}, []any{again.Kernel.Release, again.OS, again.PCI, again.Memory}, name)
		assert.Equal(t, "fips=1", again.Kernel.Cmdline)
		assert.Empty(t, again.NotSurveyed(facts.Names()...), name)
		assert.Equal(t, []string{Redacted}, again.Why("identity"))
		assert.Len(t, again.Filesystems, len(f.Filesystems))
	}
}

// TestRedactDecides: each field of the facts is kept, or left out with its reason in Unknown.
// A new field belongs in one of the lists.
func TestRedactDecides(t *testing.T) {
	kept := strings.Fields(`Schema Host Unknown Surveyed OS Kernel KernelOptions KernelFeatures SecureBoot Modules Init Systemd Manager Cgroup CPUs CPULevel Memory HugePages Swap
		Firmware Time Filesystems ProcMount XFS Links Agents Iptables Sysctls Tuned Security Crypto Umask USBBlocked Units Programs Runtimes Leftovers PCI Driver NVML
		Xids Runfile Tools Frozen Media DNFVariables Packages OddPackages InstalledByAirgap Streams`)
	left := map[string]string{
		"Identity": "identity", "Boot": "bootSwap", "Directories": "directories", "Multipath": "multipath", "BootMounts": "bootMounts", "Targets": "targets",
		"DiskErrors": "diskErrors", "DHCP": "dhcp", "Static": "dhcp", "Routes": "routes", "Rules": "rules", "VRFs": "vrfs", "Listening": "listening",
		"Resolv": "resolv", "Hosts": "hosts", "Filtering": "filtering", "DropChains": "dropChains", "PacketRules": "packetRules", "Proxies": "proxies",
		"Audit": "audit", "Accounts": "accounts", "OddAccounts": "accounts", "FileScans": "fileScans", "UnitFiles": "unitFiles", "Certificates": "certificates",
		"Asked": "identity", // not in the file
	}
	r, err := Redact(recorded(t, "rocky9"), "w1")
	require.NoError(t, err)
	for i, v := 0, reflect.ValueOf(*r); i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		fact, is := left[name]
		assert.NotEqual(t, slices.Contains(kept, name), is, "decide about %s: copy it in Redact, or add its fact to leftOut", name)
		if is {
			assert.True(t, v.Field(i).IsZero(), name)
			assert.Contains(t, leftOut(), fact)
		}
	}
	for _, name := range leftOut() {
		assert.Contains(t, facts.Names(), name)
	}
}

// TestTakeRedacted: --as or the name of the file is the name of the server.
func TestTakeRedacted(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "x.facts.yaml")
	f, _ := withIdentity(recorded(t, "rocky9"))
	f.Unknown = nil
	text := new(bytes.Buffer)
	require.NoError(t, f.Write(text))
	require.NoError(t, os.WriteFile(from, text.Bytes(), 0o644))
	_, err := Take(t.Context(), Options{From: from, Redact: true})
	require.True(t, advice.IsUsage(err), "%v", err)
	file := filepath.Join(dir, "w1.facts.yaml")
	_, err = Take(t.Context(), Options{From: from, Redact: true, File: file, Say: func(string, ...any) {}})
	require.NoError(t, err)

	all, err := Check(t.Context(), []string{from, file})
	require.NoError(t, err)
	assert.Equal(t, []any{false, true, "w1", true}, []any{all[0].Redacted, all[1].Redacted, all[1].Host, all[1].Enough})
	out := new(strings.Builder)
	require.NoError(t, all.Write(out))
	assert.Contains(t, out.String(), "w1.facts.yaml (w1): enough for a bundle, redacted\n  missing: identity, for the warning about cloned servers: "+Redacted)

	f.Packages = nil
	text.Reset()
	require.NoError(t, f.Write(text))
	require.NoError(t, os.WriteFile(from, text.Bytes(), 0o644))
	all, err = Check(t.Context(), []string{from})
	require.ErrorContains(t, err, "not enough for a bundle: "+from)
	assert.Equal(t, []Missing{{Facts: []string{"packages"}, For: "the selection of packages", Reasons: []string{"the file has no packages"}, Required: true}}, all[0].Missing)
}

// TestRedactVariables: a variable of dnf that the site has defined can name its mirror. Its name stays, with the reason
// why it has no value.
func TestRedactVariables(t *testing.T) {
	f := recorded(t, "rocky9")
	f.DNFVariables = map[string]string{"stream": "9-stream", "mirror": "yum.bank.example", "branch": "gangnam"}
	r, err := Redact(f, "w1")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"stream": "9-stream"}, r.DNFVariables)
	assert.Equal(t, []string{"$branch: " + Redacted, "$mirror: " + Redacted}, r.Why(facts.DNFVariablesFact))
	text := new(bytes.Buffer)
	require.NoError(t, r.Write(text))
	assert.NotContains(t, text.String(), "yum.bank.example")
	assert.NotContains(t, text.String(), "gangnam")

	file := filepath.Join(t.TempDir(), "w1.facts.yaml")
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
	all, err := Check(t.Context(), []string{file})
	require.NoError(t, err)
	assert.Contains(t, all[0].Missing, Missing{
		Facts: []string{facts.DNFVariablesFact}, For: "the addresses of package repositories", Reasons: []string{"$branch: " + Redacted, "$mirror: " + Redacted},
	})
}

// TestCheckUsed: facts that the connected host uses do not count as those that preflight reads on the server.
func TestCheckUsed(t *testing.T) {
	f := recorded(t, "rocky9")
	f.Unknown, f.Surveyed = nil, facts.Names()
	before := check("w1.facts.yaml", f)
	for _, name := range []string{"media", facts.DNFVariablesFact, "usb", "filesystems"} {
		f.Unknown = []facts.Unknown{{Fact: name, Reason: "time-out"}}
		got := check("w1.facts.yaml", f)
		assert.Equal(t, before.Later, got.Later, name)
		require.Len(t, got.Missing, len(before.Missing)+1, name)
		assert.Equal(t, []string{name}, got.Missing[0].Facts)
	}
}
