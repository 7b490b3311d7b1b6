package gates

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

func siteTrials() []trial {
	return []trial{
		{"the packages for Satellite or a web server", exported, 0, []string{"kubelet"}},
		{"an export that is continued", func(ctx context.Context, s *stage) (scenario.Result, error) {
			to := filepath.Join(s.dir, "repo")
			if r, err := s.export(ctx, to); err != nil || r.Code != 0 {
				return r, err
			}
			if err := os.Remove(filepath.Join(to, "el9", "repodata", "repomd.xml")); err != nil {
				return scenario.Result{}, err
			}
			return s.export(ctx, to)
		}, 0, []string{"kB written"}},
		{"upstream has removed the images", removedUpstream, 0, []string{"from ", "image quay.io/lab/tools:1.0"}},
		{"upstream has removed the images, without --from", func(_ context.Context, s *stage) (scenario.Result, error) {
			return s.withoutImages()
		}, 1, []string{"quay.io/lab/tools:1.0"}},
		{"two sites on one stick", twoSites, 0, []string{"delta: without"}},
		{"the hosts for the firewall request", func(ctx context.Context, s *stage) (scenario.Result, error) {
			return s.Airgap(ctx, "bundle", "--plan", "--hosts", "-f", filepath.Join(s.Work, "airgap.yaml"))
		}, 0, []string{"127.0.0.1"}},
		{"a limit of the rate", func(ctx context.Context, s *stage) (scenario.Result, error) {
			return s.Airgap(ctx, "bundle", "--limit-rate", "200MB", "-f", filepath.Join(s.Work, "airgap.yaml"), "-o", s.dir)
		}, 0, []string{"RPM key"}},
		{"no HOME for the keys", func(_ context.Context, s *stage) (scenario.Result, error) {
			return s.command("env", "-u", "HOME", "-u", "XDG_CONFIG_HOME", s.Program, "bundle", "-f", filepath.Join(s.Work, "airgap.yaml"), "-o", s.dir)
		}, anyCode, []string{"HOME is not set"}},
		{"one signature where two are required", func(ctx context.Context, s *stage) (scenario.Result, error) {
			return s.Airgap(ctx, "inspect", s.good, "--require-key", s.key(), "--require-keys", "2")
		}, 1, []string{"1 of the trusted keys signed it, but 2 must"}},
		{"a redacted survey", redacted, 0, []string{"node1", "redacted"}},
		{"a survey that is not enough", func(ctx context.Context, s *stage) (scenario.Result, error) {
			file := filepath.Join(s.dir, "node1.facts.yaml")
			if err := os.WriteFile(file, []byte("schema: 1\nhost: node1\n"), 0o644); err != nil {
				return scenario.Result{}, err
			}
			return s.Airgap(ctx, "survey", "check", file)
		}, 1, []string{"not enough for a bundle", "packages"}},
	}
}

func (s *stage) export(ctx context.Context, to string) (scenario.Result, error) {
	return s.Airgap(ctx, "export", "rpm", s.good, to, "--require-key", s.key())
}

// exported lets the real dnf read the exported repository.
func exported(ctx context.Context, s *stage) (scenario.Result, error) {
	if err := program("dnf"); err != nil {
		return scenario.Result{}, err
	}
	to, home := filepath.Join(s.dir, "repo"), filepath.Join(s.dir, "dnf")
	if r, err := s.export(ctx, to); err != nil || r.Code != 0 {
		return r, err
	}
	config := "[main]\nplugins=0\nreposdir=" + to + "\ncachedir=" + home + "/cache\nlogdir=" + home + "\npersistdir=" + home + "\n"
	file := filepath.Join(s.dir, "dnf.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return scenario.Result{}, err
	}
	return s.command("dnf", "--config", file, "--installroot", home, "--releasever", "9", "--forcearch", "x86_64", "-y", "--quiet", "repoquery", "--all")
}

// withoutImages builds from the good bundle's lock with a mirror that has no blobs and no
// manifests any longer.
func (s *stage) withoutImages(more ...string) (scenario.Result, error) {
	m, err := newMiddlebox(s)
	if err != nil {
		return scenario.Result{}, err
	}
	defer m.Close()
	m.content = func(w http.ResponseWriter, r *http.Request) bool {
		gone := isBlob(r) || isManifest(r)
		if gone {
			http.NotFound(w, r)
		}
		return gone
	}
	config, err := s.Config("gone.yaml", s.Upstream.CA, m.ca, strings.TrimPrefix(s.Upstream.URL, "https://"), mirror)
	if err != nil {
		return scenario.Result{}, err
	}
	text, err := os.ReadFile(filepath.Join(s.Work, "airgap.lock"))
	if err != nil {
		return scenario.Result{}, err
	}
	own := filepath.Join(s.dir, "builder", "airgap.yaml")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		return scenario.Result{}, err
	}
	if err := os.Rename(config, own); err != nil {
		return scenario.Result{}, err
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(own), "airgap.lock"), text, 0o644); err != nil {
		return scenario.Result{}, err
	}
	args := []string{"env", "-u", "NO_PROXY", "-u", "no_proxy", "HTTPS_PROXY=" + m.URL, s.Program, "bundle", "-f", own, "-o", filepath.Join(s.dir, "out")}
	return s.command(append(args, more...)...)
}

func removedUpstream(_ context.Context, s *stage) (scenario.Result, error) {
	return s.withoutImages("--from", s.good)
}

// twoSites puts a second site's bundle next to the first one, and logs the saving.
func twoSites(ctx context.Context, s *stage) (scenario.Result, error) {
	own := filepath.Join(s.dir, "builder")
	if err := os.MkdirAll(own, 0o755); err != nil {
		return scenario.Result{}, err
	}
	config, err := s.Config("busan.yaml", "name: bank\n", "name: busan\n", "10.88.0.11", "10.89.0.11", "10.88.0.12", "10.89.0.12")
	if err == nil {
		err = os.Rename(config, filepath.Join(own, "airgap.yaml"))
	}
	if err != nil {
		return scenario.Result{}, err
	}
	r, err := s.Airgap(ctx, "bundle", "-f", filepath.Join(own, "airgap.yaml"), "-o", s.dir, "--shared-with", s.good)
	if err != nil || r.Code != 0 {
		return r, err
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "busan-delta-*"))
	if err != nil || len(found) != 1 {
		return r, fmt.Errorf("find the second bundle: %v %w", found, err)
	}
	one, errOne := partBytes(s.good)
	two, errTwo := partBytes(found[0])
	if errOne != nil || errTwo != nil {
		return r, fmt.Errorf("measure the bundles: %w, %w", errOne, errTwo)
	}
	fmt.Fprintf(s.Log, "  two sites: parts of %d and %d bytes, %.1f %% for the second site\n", one, two, 100*float64(two)/float64(one))
	return r, nil
}

func partBytes(dir string) (total int64, err error) {
	parts, err := filepath.Glob(filepath.Join(dir, "bundle.tar.*"))
	for _, p := range parts {
		info, err := os.Stat(p)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, err
}

// redacted surveys this machine, and searches the facts for its name.
func redacted(ctx context.Context, s *stage) (scenario.Result, error) {
	file := filepath.Join(s.dir, "node1.facts.yaml")
	if r, err := s.Airgap(ctx, "survey", "--redact", "--file", file); err != nil || r.Code != 0 {
		return r, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return scenario.Result{}, err
	}
	id, _ := os.ReadFile("/etc/machine-id")
	if mark := strings.TrimSpace(string(id)); mark != "" && strings.Contains(string(text), mark) {
		return scenario.Result{}, fmt.Errorf("the redacted facts have the machine ID")
	}
	r, err := s.Airgap(ctx, "survey", "check", file)
	if r.Code == 1 && strings.Contains(r.Stdout, "redacted") { // this machine has no packages of an EL
		r.Code = 0
	}
	return r, err
}
