package runtime

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

func crioOptions(t *testing.T, overrides string, f Facts) Options {
	t.Helper()
	r := Config{Name: "crio"}
	if err := yaml.Unmarshal([]byte(overrides), &r.Overrides); err != nil {
		t.Fatal(err)
	}
	r.Default("1.36.3")
	return Options{Runtime: r, Sandbox: "registry.k8s.io/pause:3.10.2", Pinned: []string{"registry.k8s.io/kube-proxy:v1.36.3"}, Mirrors: CRIOContainers + "/registries.conf", Facts: f}
}

// TestCRIOConfig checks the effective configuration with the real CRI-O, also with a drop-in of a
// GPU toolkit.
func TestCRIOConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		overrides, dropIn string
		facts             Facts
		driver            Driver
	}{
		"crio-systemd.toml": {"", "", Facts{Driver: Systemd, SELinux: true}, Systemd},
		"crio-site.toml":    {`{crio: {runtime: {pids_limit: 4096}}}`, "", Facts{Driver: Cgroupfs}, Cgroupfs},
		"":                  {"", "[crio.runtime]\ncgroup_manager = 'cgroupfs'\n", Facts{Driver: Systemd}, Cgroupfs},
	} {
		t.Run(name, func(t *testing.T) {
			o := crioOptions(t, tc.overrides, tc.facts)
			files, err := crioFiles(o)
			if err != nil {
				t.Fatal(err)
			}
			if name != "" {
				hosttest.Golden(t, name, files[crioConfig])
			}
			dir := t.TempDir()
			config, dropIns := filepath.Join(dir, "crio.conf"), filepath.Join(dir, "crio.conf.d")
			if err := errors.Join(os.WriteFile(config, files[crioConfig], 0o644), os.Mkdir(dropIns, 0o755), os.WriteFile(filepath.Join(dropIns, "99-nvidia.conf"), []byte(tc.dropIn), 0o644)); err != nil {
				t.Fatal(err)
			}
			dump := hosttest.Output(t, hosttest.LabProgram(t, "crio/crio"), "--config", config, "--config-dir", dropIns, "config")
			if e, err := readCRIODump([]byte(dump)); err != nil || e != (effective{Driver: tc.driver, Network: host.CNIDir}) {
				t.Errorf("effective: %+v, %v:\n%s", e, err, dump)
			}
			for _, setting := range []string{
				`pull_progress_timeout = "20s"`,
				`root = "/var/lib/crio/storage"`,
				`"registry.k8s.io/kube-proxy:v1.36.3"`,
				`runtime_path = "/opt/airgap/bin/runc"`,
				`pause_image = "registry.k8s.io/pause:3.10.2"`,
				`default_mounts_file = "/dev/null"`,
				`irqbalance_config_restore_file = "disable"`,
			} {
				if !strings.Contains(dump, setting) {
					t.Errorf("not in effect: %s", setting)
				}
			}
			if pids := strings.Contains(dump, "pids_limit = 4096"); pids != (tc.overrides != "") {
				t.Errorf("the site's own limit is in effect: %t", pids)
			}
		})
	}
}

func TestReadCRIODump(t *testing.T) {
	for dump, want := range map[string]Driver{
		"[crio]\n[crio.runtime]\n# cgroup_manager = \"systemd\"\n": Systemd, // the default is a comment
		"[crio.runtime]\ncgroup_manager = \"cgroupfs\"\n":          Cgroupfs,
		"[crio": "",
	} {
		if got, err := readCRIODump([]byte(dump)); got.Driver != want || (err != nil) != (want == "") {
			t.Errorf("%q: %+v, %v", dump, got, err)
		}
	}
}

// crioArchive has the layout of the project's archive: programs in a directory bin, and other files.
func crioArchive(t *testing.T, programs ...string) Source {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	names := []string{"cri-o/install", "cri-o/cni-plugins/bridge", "cri-o/contrib/crio.service", "cri-o/etc/crictl.yaml"}
	for _, p := range programs {
		names = append(names, "cri-o/bin/"+p)
	}
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(name))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, name string) (io.ReadCloser, error) {
		if name != "cri-o.amd64.v1.36.3.tar.gz" {
			return nil, os.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}
}

func TestCRIOFiles(t *testing.T) {
	f, m := hosttest.New(t)
	r := crioOptions(t, "", Facts{}).Runtime
	s := FilesStep(m, r, "amd64", crioArchive(t, "crio", "conmon", "pinns", "runc", "crictl"))
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	for program, there := range map[string]bool{"crio": true, "conmon": true, "pinns": true, "runc": true, "crictl": true, "bridge": false, "install": false, "crio.service": false} {
		if f.Has(host.BinDir+"/"+program) != there {
			t.Errorf("%s exists: %t", program, !there)
		}
	}
	if err := FilesStep(m, r, "amd64", crioArchive(t, "crio", "conmon", "runc")).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "install CRI-O: the release does not contain pinns") {
		t.Errorf("an archive without pinns: %v", err)
	}
}

// TestCRIOService checks that CRI-O starts with its policy, and restarts after a change of the
// registries, which it reads only at its start. It must not run next to airgap's containerd.
func TestCRIOService(t *testing.T) {
	f, m := hosttest.New(t)
	withRuntime(t, f, m, crio())
	o := crioOptions(t, "", Facts{Driver: Systemd})
	s := ServiceStep(m, o)
	hosttest.MustBeDone(t, s.Done, false) // no registries yet
	f.Put(t, o.Mirrors, "one registry\n")
	f.Put(t, crioEnv, "NO_PROXY=\n")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if !f.Has(crioPolicy) || engineOn(m).name != "crio" {
		t.Errorf("policy exists: %t, runtime: %s", f.Has(crioPolicy), engineOn(m).name)
	}
	f.Put(t, o.Mirrors, "two registries\n")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.Ran("systemctl restart crio"); n != 2 {
		t.Errorf("restarted %d times, want 2", n)
	}

	other := ServiceStep(m, options(t, "", Facts{Driver: Systemd}))
	var failed *host.Failure
	if err := other.Run(t.Context()); !errors.As(err, &failed) || !strings.Contains(failed.Error(), "airgap has installed CRI-O on this host") || !strings.Contains(failed.Next, "airgap reset") {
		t.Errorf("containerd next to CRI-O: %v", err)
	}

	if err := ServiceStep(m, Options{}).Undo(t.Context()); err != nil { // as reset does, without a configuration
		t.Fatal(err)
	}
	if f.Has(crioConfig) || f.Has(crio().unit) || f.Has(crioPolicy) || answers(t.Context(), m, crio()) {
		t.Error("files remain after the undo")
	}
}

func TestAgreementOfCRIO(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "proc/1/comm", "systemd\n")
	f.Put(t, KubeletConfig, "cgroupDriver: systemd\n")
	f.Put(t, crio().unit, ours)
	f.Answers[host.BinDir+"/crio --config /etc/crio/crio.conf --config-dir /etc/crio/crio.conf.d config"] = func(host.Cmd) ([]byte, error) {
		return []byte("[crio.runtime]\ncgroup_manager = 'cgroupfs'\n"), nil
	}
	if err := agreeing(m).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "CRI-O uses cgroupfs") {
		t.Errorf("got %v", err)
	}
}
