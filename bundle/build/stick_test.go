package build

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/ui"
)

// TestDocsAreOnTheStick: a bundle has the documentation in both languages. SHA256SUMS
// lists the files, so that a change is detected.
func TestDocsAreOnTheStick(t *testing.T) {
	c := configtest.On(t, "el9", configtest.Kubernetes+"network: {plugin: calico}\n")
	plan, err := cnitest.Serve(t).Plan(t, c.Network, c.PodCluster(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan.Tool = "airgap test"
	file, dir := filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), plan.Name)
	keys, err := program.CheckKeys(t.Context(), program.KeyOptions{Dir: t.TempDir(), New: true})
	if err := errors.Join(err, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755), keys.Make()); err != nil {
		t.Fatal(err)
	}
	if err := plan.SignPackages(keys.RPM); err != nil {
		t.Fatal(err)
	}
	root := func() *cobra.Command { return &cobra.Command{Use: "airgap"} }
	stick, err := stickFiles(program.Source{Airgap: file, NVML: file, Probe: file, Commands: root}, c, plan, keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Write(t.Context(), plan, dir, bundle.Options{PartSize: 8 << 20, Signer: keys.Bundle, Stick: stick}, ui.Discard()); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, bundle.SumsName))
	if err != nil {
		t.Fatal(err)
	}
	for name, has := range map[string]string{
		"docs.html":       `<html lang="en">`,
		"docs.ko.html":    `<html lang="ko">`,
		"INSTALL.txt":     "airgap install",
		"airgap":          "#!/bin/sh",
		"airgap.rpm":      "",
		papers.ReportName: "<html",
		papers.SBOMName:   "SPDX-2.3",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), has) {
			t.Errorf("%s: %d bytes without %q, %v", name, len(text), has, err)
		}
		if !strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("%s does not list %s:\n%s", bundle.SumsName, name, sums)
		}
	}
}

// TestInstallTextOfADelta: the text first says that the base must be on the servers.
func TestInstallTextOfADelta(t *testing.T) {
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("airgap.yaml", []byte(bundletest.New(t).Open(t).Index().Config))
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		base           *bundle.Base
		own            bool // signed with the site's key
		wants, without []string
	}{
		{
			nil,
			true,
			[]string{"airgap preflight /mnt/stick/test-delta-1 --require-key SHA256:...\n", "airgap install /mnt/stick/test-delta-1 --require-key SHA256:...\n"},
			[]string{"install /mnt/stick/\n"},
		},
		{nil, false, []string{
			"rpm -U --oldpackage --replacepkgs airgap.rpm", "prints a page.\n\n0. The drive", "mount -o ro /dev/sdb1 /mnt/stick\n      cd /mnt/stick/test-delta-1\n",
			"noexec or showexec", "airgap inspect DIR --full",
		}, []string{"delta", "./airgap", "/mnt/stick/airgap"}},
		{&bundle.Base{Bundles: []string{"test-delta-0", "test"}, Files: make([]bundle.Held, 3)}, false,
			[]string{
				"This is a delta. It does not contain 3 files", "have from\ntest-delta-0, test.", "rpm -U --replacepkgs airgap.rpm",
				"airgap install /mnt/stick/test-delta-1\n", "airgap upgrade /mnt/stick/test-delta-1", "and needs no join token",
			}, nil},
	} {
		text, err := InstallText(c, &bundle.Plan{Name: "test-delta-1", Base: tt.base}, &program.Keys{RPM: key, Bundle: own, Own: tt.own})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is missing in INSTALL.txt:\n%s", want, text)
			}
		}
		for _, word := range tt.without {
			if strings.Contains(strings.ReplaceAll(string(text), "test-delta-1", ""), word) {
				t.Errorf("INSTALL.txt of a complete bundle contains %q", word)
			}
		}
	}
}
