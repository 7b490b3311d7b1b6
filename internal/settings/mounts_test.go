package settings

import (
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

func TestMounts(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "data/kubelet dir/pods/x", "")
	f.Put(t, "var/lib/x", "")
	if err := os.Symlink(m.Path("/data/kubelet dir"), m.Path("/var/lib/kubelet")); err != nil {
		t.Fatal(err)
	}
	s := MountsStep(m, []UnitPaths{
		{Unit: "kubelet.service", Paths: []string{"/var/lib/kubelet", "/var/lib/etcd"}},
		{Unit: "containerd.service", Paths: []string{"/var/lib/containerd"}},
	})
	hosttest.MustBeDone(t, s.Done, false)
	kubelet, containerd := dropInOf("kubelet.service"), dropInOf("containerd.service")
	hosttest.WantPlan(t, f, s, "write "+containerd+" (new)", "write "+kubelet+" (new)")
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	hosttest.MustBeDone(t, s.Done, true)
	for name, want := range map[string]string{
		kubelet:    `RequiresMountsFor=/var/lib/kubelet /var/lib/etcd "/data/kubelet dir"`,
		containerd: "RequiresMountsFor=/var/lib/containerd\n",
	} {
		if got := f.Get(name); !strings.Contains(got, want) || !strings.Contains(got, "[Unit]\n") {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if f.Ran("systemctl daemon-reload") != 1 {
		t.Errorf("ran %v", f.Calls)
	}

	f.Put(t, kubelet, "# somebody's\n") // drift
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	hosttest.MustBeDone(t, s.Done, true)

	hosttest.Do(t, func() error { return MountsStep(m, nil).Undo(t.Context()) })
	if f.Has(kubelet) || f.Has(containerd) {
		t.Error("undo keeps a drop-in")
	}
}

func TestQuoteUnit(t *testing.T) {
	for word, want := range map[string]string{
		"/var/lib/etcd": "/var/lib/etcd", "/a b": `"/a b"`, "/100%": "/100%%", `/a"b`: `"/a\"b"`, `/a\b`: `"/a\\b"`,
	} {
		if got := quoteUnit(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}
