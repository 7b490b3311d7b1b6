package dnf

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/host"
)

// TestDNFReadsRepodata: dnf reads the repository of a bundle and requires
// signatures.
func TestDNFReadsRepodata(t *testing.T) {
	rpmtest.Need(t, "dnf", "createrepo_c")
	from, repository := vendor(t, spec("agent", "library >= 1.0", "/bin/sh"), spec("library"), spec("unrelated"))
	c, err := rpm.Plan(t.Context(), from, rpm.Request{OS: "el9", Arch: "x86_64", Repositories: []rpm.Repository{repository}, Install: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	ours := writeRepository(t, c, from)
	state := t.TempDir()
	tr := Transaction{StateDir: state, BaseURL: "file://" + ours, Keys: keyFiles(t, ours)}
	if err := tr.configure(); err != nil {
		t.Fatal(err)
	}
	query := []string{"--config", filepath.Join(state, "dnf.conf"), "-y", "--quiet", "repoquery"}
	got := rpmtest.Output(t, "dnf", append(query, "--qf", "%{name} %{evr} %{location}")...)
	if want := "agent 1.0-1 Packages/agent-1.0-1.x86_64.rpm\nlibrary 1.0-1 Packages/library-1.0-1.x86_64.rpm\n"; got != want {
		t.Errorf("dnf lists\n%s, want\n%s", got, want)
	}
	if got := rpmtest.Output(t, "dnf", append(query, "--list", "library")...); !strings.Contains(got, "/opt/library") {
		t.Errorf("dnf lists the files %q", got)
	}
}

// TestDNFUsesNoProxy: dnf resolves over HTTP although airgap's environment has a
// proxy that does not respond. dnf would use it in spite of proxy=_none_.
func TestDNFUsesNoProxy(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent"))
	tr := transaction(t, h, from, repository, "agent")
	server := httptest.NewServer(http.FileServer(http.Dir(strings.TrimPrefix(tr.BaseURL, "file://"))))
	defer server.Close()
	tr.BaseURL = server.URL
	for _, name := range []string{"http_proxy", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("no_proxy", "")
	t.Setenv("NO_PROXY", "")
	if missing, err := tr.Check(t.Context()); err != nil || len(missing) != 1 {
		t.Errorf("dnf would install %v, %v", missing, err)
	}
}

// counting counts the starts of dnf.
type counting struct {
	host.Host

	started *int
}

func (h counting) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if slices.Contains(cmd.Args, "dnf") {
		*h.started++
	}
	return h.Host.Run(ctx, cmd)
}

// TestCheckStartsDNFOnce: Check starts dnf once, because dnf takes most of the time of preflight. dnf
// accepts the key of the metadata, and installs, fetches and imports nothing.
func TestCheckStartsDNFOnce(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent", "library >= 1.0"), spec("library"))
	tr := transaction(t, h, from, repository, "agent")
	started := 0
	tr.Host = counting{h, &started}
	if missing, err := tr.Check(t.Context()); err != nil || len(missing) != 2 {
		t.Fatalf("dnf would install %v, %v", missing, err)
	}
	if started != 1 {
		t.Errorf("dnf was started %d times", started)
	}
	if installed, err := tr.installed(t.Context()); err != nil || len(installed) > 0 {
		t.Errorf("the host has %v, %v", installed, err)
	}
	err := filepath.WalkDir(tr.StateDir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".rpm") {
			t.Errorf("dnf fetched %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
