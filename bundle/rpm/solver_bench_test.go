package rpm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// BenchmarkSolver measures plans next to dnf on the same metadata, for `make bench RUN=solver`. Both
// read the metadata from the page cache. Those with "cached" have the cache of an earlier run: Request.Cache,
// and `dnf -C`. The others keep nothing. Each figure is the median of three rounds after one that does not count.
func BenchmarkSolver(b *testing.B) {
	b.Run("real", func(b *testing.B) {
		from, repositories := centOS(b)
		install := []string{"podman", "NetworkManager", "ethtool", "socat"}
		compareWithDNF(b, from, repositories, install, false)
	})
	b.Run("real_cached", func(b *testing.B) {
		from, repositories := centOS(b)
		compareWithDNF(b, from, repositories, []string{"podman", "NetworkManager", "ethtool", "socat"}, true)
	})
	b.Run("dense", func(b *testing.B) {
		from, repository := published(b, dense(200, 60, withoutNewest))
		compareWithDNF(b, from, []Repository{repository}, []string{"n0"}, false)
	})
	b.Run("dense_cached", func(b *testing.B) {
		from, repository := published(b, dense(200, 60, withoutNewest))
		compareWithDNF(b, from, []Repository{repository}, []string{"n0"}, true)
	})
	b.Run("refused", func(b *testing.B) {
		u := universeOf(b, append(dense(200, 60, nil), pkg{nevra: "app-1-1.x86_64", requires: []string{"n3 >= 50", "n4 < 20"}}))
		for b.Loop() {
			var solve, explain []time.Duration
			for range 4 {
				start := time.Now()
				p, err := newProblem(b.Context(), u, newSurveyed(Installed{}), listed([]string{"n0", "app"}, InstallList))
				if err != nil {
					b.Fatal(err)
				}
				if _, ok, err := p.solve(); ok || err != nil {
					b.Fatal(ok, err)
				}
				solve = append(solve, time.Since(start))
				start = time.Now()
				p.explain()
				explain = append(explain, time.Since(start))
			}
			b.ReportMetric(median(explain), "seconds")
			b.ReportMetric(median(solve), "compared")
		}
	})
}

// withoutNewest makes the newest versions of dense metadata impossible.
func withoutNewest(_, version int) []string {
	if version > 40 {
		return []string{"missing"}
	}
	return nil
}

// median leaves out the first round.
func median(rounds []time.Duration) float64 {
	rounds = slices.Sorted(slices.Values(rounds[1:]))
	return rounds[len(rounds)/2].Seconds()
}

// compareWithDNF reports the seconds of a plan for an empty system, and of dnf. With a cache the first round, which
// does not count, fills it.
func compareWithDNF(b *testing.B, from rpmtest.Directory, repositories []Repository, install []string, cached bool) {
	b.Helper()
	root := b.TempDir()
	request := Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: install, Hosts: []Installed{{Host: "an empty root"}}}
	if cached {
		request.Cache = b.TempDir() + "/repodata"
	}
	dirs := b.TempDir()
	for b.Loop() {
		var ours, theirs []time.Duration
		for round := range 4 {
			start := time.Now()
			if _, err := Plan(b.Context(), from, request); err != nil {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(start))
			dir := filepath.Join(dirs, "dnf")
			if !cached {
				dir = b.TempDir()
			}
			theirs = append(theirs, dnfTime(b, dir, root, from, repositories, install, cached && round > 0))
		}
		b.ReportMetric(median(ours), "seconds")
		b.ReportMetric(median(theirs), "compared")
	}
}

// dnfTime is the time of dnf, from its start to its table, with its cache in dir. With -C it uses only the cache.
func dnfTime(b *testing.B, dir, root string, from rpmtest.Directory, repositories []Repository, install []string, onlyCache bool) time.Duration {
	b.Helper()
	rpmtest.Write(b, filepath.Join(dir, "dnf.conf"), []byte("[main]\nplugins=0\ninstall_weak_deps=0\n"))
	args := []string{"--config", filepath.Join(dir, "dnf.conf"), "--installroot=" + root, "--releasever=9", "--forcearch=x86_64",
		"--setopt=reposdir=" + dir, "--setopt=cachedir=" + dir, "--setopt=module_platform_id=platform:el9", "--assumeno"}
	for _, r := range repositories {
		args = append(args, fmt.Sprintf("--repofrompath=%s,file://%s/%s", r.Name, from, strings.Trim(strings.TrimPrefix(r.BaseURL, rpmtest.Upstream), "/")))
	}
	if onlyCache {
		args = append(args, "--cacheonly")
	}
	cmd := exec.Command("dnf", append(append(args, "install"), install...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	start := time.Now()
	out, _ := cmd.CombinedOutput() // --assumeno ends with an error
	took := time.Since(start)
	if !strings.Contains(string(out), "Total download size") && !strings.Contains(string(out), "Operation aborted") {
		b.Fatalf("dnf has no solution: %s", out)
	}
	return took
}

// published writes a repository of packages to a directory.
func published(b *testing.B, packages []pkg) (rpmtest.Directory, Repository) {
	b.Helper()
	w, dir := web{}, b.TempDir()
	repository := w.publish(b, "https://upstream/vendor", aKey(), packages...)
	for url, data := range w {
		rpmtest.Write(b, filepath.Join(dir, strings.TrimPrefix(url, rpmtest.Upstream)), data)
	}
	return rpmtest.Directory(dir), repository
}
