package sitetest

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// PluginDigest is the digest of the device plugin's image in the lock of GPUSite.
var PluginDigest = "sha256:" + strings.Repeat("0a", 32)

// RPMHost is a CardHost with a fixed output of rpm.
type RPMHost struct {
	CardHost
	Rpms string
}

// Run also answers for rpm.
func (h RPMHost) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == "rpm" {
		return []byte(h.Rpms), nil
	}
	return h.CardHost.Run(ctx, cmd)
}

// GPUSite returns the site of a host with the role gpu. cards are the PCI device IDs of its GPUs. driver is the
// version in the bundle; "" for none.
func GPUSite(t *testing.T, section, driver string, cards ...string) *site.Site {
	t.Helper()
	s := SettingsSite(t, section)
	s.Node.Roles = []config.Role{config.Worker, config.GPU}
	s.Config.Nodes[1].Roles = s.Node.Roles
	tree := CardFiles()
	for i, id := range cards {
		dir := "sys/bus/pci/devices/0000:0" + string(rune('1'+i)) + ":00.0/"
		for name, text := range map[string]string{"vendor": "0x10de", "device": "0x" + id, "class": "0x030200"} {
			tree[dir+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	s.Machine.Host = RPMHost{CardHost: CardHost{MapFS: tree}}
	s.Index.Lock.Images = append(s.Index.Lock.Images, bundle.Image{Name: s.Config.GPU.Image(), Digest: PluginDigest, NeededBy: []string{bundle.GPUList}})
	if driver != "" {
		s.Index.Lock.Packages = append(s.Index.Lock.Packages, bundle.Package{NEVRA: nevra.MustParse("nvidia-driver-cuda-3:" + driver + "-1.el9.x86_64"), Hosts: []string{s.Node.Name}, NeededBy: []string{bundle.GPUList}})
		s.Index.Lock.Hosts, s.Index.Lock.Drivers = []string{s.Node.Name}, map[string]string{s.Node.Name: driver}
	}
	return s
}
