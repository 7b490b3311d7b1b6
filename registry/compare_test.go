package registry

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/bundle/bundletest"
)

func TestCompare(t *testing.T) {
	a, b, stopped := newRegistryHost(t), newRegistryHost(t), newRegistryHost(t)
	a.follow(t) // no registry follows a: images pushed to a exist only there
	b.follow(t)
	must(t, stopped.listener.Close())
	both := []*Client{a.peer(t), b.peer(t)}
	if found := Compare(t.Context(), both); len(found) != 0 {
		t.Errorf("two empty registries differ: %v", found)
	}
	must(t, remote.Write(a.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), a.login()...))
	found := Compare(t.Context(), append(both, stopped.peer(t)))
	missingTag, missingRegistry := errors.New("the tag is not reported"), errors.New("the stopped registry is not reported")
	for _, d := range found {
		if d.Object == "Image team/app:1" && d.Saw == "up to date on "+a.addr+", not on "+b.addr {
			missingTag = nil
		}
		if d.Object == "Registry "+stopped.addr && strings.Contains(d.Saw, "refused") {
			missingRegistry = nil
		}
	}
	if err := errors.Join(missingTag, missingRegistry); err != nil || len(found) != 3 {
		t.Errorf("%v: %+v", err, found)
	}
	must(t, remote.Delete(a.ref(t, "team/app:1"), a.login()...))
	for _, d := range Compare(t.Context(), both) {
		if d.Object == "Image team/app:1" && !strings.Contains(d.Saw, "deleted on "+a.addr) {
			t.Errorf("%+v", d)
		}
	}
}

// TestCompareBundles: the difference names a bundle that only one registry has, and the command to
// import it on the other.
func TestCompareBundles(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	a, b := start(t, base.Open(t), delta.Open(t)), start(t, base.Open(t))
	found := Compare(t.Context(), []*Client{a.peer(t), b.peer(t)})
	want := Difference{
		Object: "Bundle test-delta-1", Saw: "available on " + a.addr + ", missing on " + b.addr, Want: "the same on all registries",
		Fix: "on " + b.addr + ": airgap registry import --from " + a.addr + " " + delta.Open(t).ID() + "; if the bundle is not needed: airgap registry prune on " + a.addr,
	}
	if found = slices.DeleteFunc(found, func(d Difference) bool { return !strings.HasPrefix(d.Object, "Bundle") }); len(found) != 1 || found[0] != want {
		t.Errorf("%+v, want %+v", found, want)
	}
}

// TestCompareCertificates: a certificate that was not renewed is reported.
func TestCompareCertificates(t *testing.T) {
	p := prepare(t)
	must(t, p.pki.Remove())
	must(t, p.pki.Ensure(nil, time.Now().AddDate(-2, 0, 10))) // it is valid for two years
	ca, err := os.ReadFile(p.pki.CAFile())
	must(t, err)
	p.client, err = HTTPClient(ca)
	must(t, err)
	r := p.start(t, Options{})
	found := Compare(t.Context(), []*Client{r.peer(t)})
	if len(found) != 1 || found[0].Object != "Registry "+r.addr || !strings.HasPrefix(found[0].Saw, "its certificate expires on ") {
		t.Errorf("%+v", found)
	}
}
