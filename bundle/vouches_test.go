package bundle_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// TestRepositoryLosesItsSignature: the lock requires the signature, until the
// repository is in Update.
func TestRepositoryLosesItsSignature(t *testing.T) {
	bundletest.Need(t, "createrepo_c")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	u, r := rpmUpstream(t, key)
	const md = "pkgs.k8s.io/rpm/repodata/repomd.xml"
	signature, err := key.ArmoredSign(strings.NewReader(string(u.files[md])), time.Unix(1_700_000_000, 0))
	must(t, err)
	u.files[md+".asc"] = signature
	plan := func() (*bundle.Plan, error) { return bundle.NewPlan(background, u.client(t), r, ui.Discard()) }
	first, err := plan()
	must(t, err)
	if got := first.Lock.Repositories[0]; !got.SignedMetadata || got.Timestamp == 0 || got.Location != "https://pkgs.k8s.io/rpm" || len(first.Notices) > 0 {
		t.Errorf("locked %+v; %q", got, first.Notices)
	}
	r.Locked = &bundle.Locked{Lock: first.Lock}
	u.spoil.Store(nil)
	gone := func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.HasSuffix(q.URL.Path, "repomd.xml.asc") {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		return true
	}
	u.spoil.Store(&gone)
	for _, update := range []string{"", bundle.UpdateAll} {
		r.Locked.Update = []string{update}
		if update == "" {
			r.Locked.Update = nil
		}
		if _, err := plan(); err == nil || !strings.Contains(err.Error(), "read repository kubernetes: ") || !strings.Contains(err.Error(), "is no longer signed") {
			t.Errorf("update %q: %v", update, err)
		}
	}
	r.Locked.Update = []string{"kubernetes"}
	taken, err := plan()
	must(t, err)
	if taken.Lock.Repositories[0].SignedMetadata || len(taken.Notices) != 1 || !strings.Contains(taken.Notices[0], "repository kubernetes: the metadata is not signed") {
		t.Errorf("%+v; %q", taken.Lock.Repositories[0], taken.Notices)
	}
	page, err := papers.Report(taken, "SHA256:x")
	must(t, err)
	if !strings.Contains(string(page), "Not checked") {
		t.Error("the report does not show the notice")
	}
}

// TestNewerMetadataKeepsTheBytes: the same packages from newer metadata keep the locked
// timestamp.
func TestNewerMetadataKeepsTheBytes(t *testing.T) {
	bundletest.Need(t, "createrepo_c")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	u, r := rpmUpstream(t, key)
	first, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	was := first.Lock.Repositories[0].Timestamp
	const md = "pkgs.k8s.io/rpm/repodata/repomd.xml"
	for text, want := range map[string]string{fmt.Sprint(was + 1000): "", "1": "older than the metadata in airgap.lock"} {
		whole := u.files[md]
		u.files[md] = []byte(strings.ReplaceAll(string(whole), fmt.Sprintf("<timestamp>%d<", was), "<timestamp>"+text+"<"))
		if string(u.files[md]) == string(whole) {
			t.Fatalf("no timestamp %d in\n%s", was, whole)
		}
		r.Locked = &bundle.Locked{Lock: first.Lock}
		again, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
		u.files[md] = whole
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", text, err)
		case want == "" && (err != nil || again.Lock.Repositories[0].Timestamp != was):
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestChartLosesItsDigest: an index without a digest is accepted only if the lock has none.
func TestChartLosesItsDigest(t *testing.T) {
	archive := charttest.Archive(t, "till", charttest.Checkout())
	next := charttest.Checkout()
	next["Chart.yaml"] = strings.Replace(next["Chart.yaml"], "version: 1.2.3", "version: 1.2.4", 1)
	newer := charttest.Archive(t, "till", next)
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	u.files["charts.example/a.tgz"], u.files["charts.example/b.tgz"] = archive, newer
	index := func(a, b string) {
		u.files["charts.example/index.yaml"] = fmt.Appendf(nil, "entries:\n  till:\n    - {version: 1.2.3, digest: %q, urls: [a.tgz]}\n    - {version: 1.2.4, digest: %q, urls: [b.tgz]}\n", a, b)
	}
	index(hexSum(archive), hexSum(newer))
	request := bundle.Request{Name: "test", Tool: "test", Platform: "linux/amd64", KubeVersion: "1.36.3", Addons: []bundle.AddonNeed{{
		Name: "cash", Namespace: "shop", Chart: &bundle.ChartNeed{Repository: "https://charts.example", Name: "till", Version: "1.2.3"},
	}}}
	lockOf := func(digest bool) *bundle.Locked {
		return &bundle.Locked{
			Lock: bundle.Lock{Addons: []bundle.Addon{{Name: "cash", Chart: &bundle.Chart{Name: "till", Version: "1.2.3", Repository: "https://charts.example", IndexDigest: digest, SHA256: hexSum(archive)}}}},
		}
	}
	request.Addons[0].Chart.Version = "1.2.4"
	index(hexSum(archive), "")
	const lost = "the index of the repository has no digest for this chart, but had one when airgap.lock was written"
	for name, c := range map[string]struct {
		locked *bundle.Locked
		want   bool
	}{"had one": {lockOf(true), true}, "never had one": {lockOf(false), false}, "first": {nil, false}} {
		request.Locked = c.locked
		_, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
		if got := err != nil && strings.Contains(err.Error(), lost); got != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
