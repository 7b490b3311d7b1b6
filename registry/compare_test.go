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
	a, b, away := newSite(t), newSite(t), newSite(t)
	a.follow(t) // nobody follows a: what is pushed there stays there alone
	b.follow(t)
	must(t, away.listener.Close())
	both := []*Client{a.peer(t), b.peer(t)}
	if found := Compare(t.Context(), both); len(found) != 0 {
		t.Errorf("of two empty ones: %v", found)
	}
	must(t, remote.Write(a.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), a.login()...))
	found := Compare(t.Context(), append(both, away.peer(t)))
	tag, silent := errors.New("the tag is not named"), errors.New("the silent one is not named")
	for _, d := range found {
		if d.Object == "Image team/app:1" && d.Saw == a.addr+" has it, not "+b.addr {
			tag = nil
		}
		if d.Object == "Registry "+away.addr && strings.Contains(d.Saw, "refused") {
			silent = nil
		}
	}
	if err := errors.Join(tag, silent); err != nil || len(found) != 3 {
		t.Errorf("%v: %+v", err, found)
	}
	must(t, remote.Delete(a.ref(t, "team/app:1"), a.login()...))
	for _, d := range Compare(t.Context(), both) {
		if d.Object == "Image team/app:1" && !strings.Contains(d.Saw, "deleted it") {
			t.Errorf("%+v", d)
		}
	}
}

// TestCompareBundles names a bundle that one registry alone has, and how the other
// gets it.
func TestCompareBundles(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	a, b := start(t, base.Open(t), delta.Open(t)), start(t, base.Open(t))
	found := Compare(t.Context(), []*Client{a.peer(t), b.peer(t)})
	want := Difference{
		Object: "Bundle test-delta-1", Saw: a.addr + " has it, not " + b.addr, Want: "the same on all registries",
		Fix: "on " + b.addr + ": airgap registry import --from " + a.addr + " " + delta.Open(t).ID() + "; or, where nobody needs it, airgap registry prune on " + a.addr,
	}
	if found = slices.DeleteFunc(found, func(d Difference) bool { return !strings.HasPrefix(d.Object, "Bundle") }); len(found) != 1 || found[0] != want {
		t.Errorf("%+v, want %+v", found, want)
	}
}

// TestCompareCertificates names one that nobody has renewed.
func TestCompareCertificates(t *testing.T) {
	p := prepare(t)
	must(t, p.pki.Remove())
	must(t, p.pki.Ensure(nil, time.Now().AddDate(-2, 0, 10))) // it is good for two years
	ca, err := os.ReadFile(p.pki.CAFile())
	must(t, err)
	p.client, err = HTTPClient(ca)
	must(t, err)
	r := p.start(t, Options{})
	found := Compare(t.Context(), []*Client{r.peer(t)})
	if len(found) != 1 || found[0].Object != "Registry "+r.addr || !strings.HasPrefix(found[0].Saw, "its certificate ends on ") {
		t.Errorf("%+v", found)
	}
}
